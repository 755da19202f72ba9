"""What a step wants of the worktree: that of a point, or the present one without some edits."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field, replace
from functools import partial

from gitcp.errors import Error
from gitcp.git.objects import Lookup, compare_trees, find_file, find_tree
from gitcp.git.objects.merging import merge_blobs
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Opening
from gitcp.record.snapshot import scan
from gitcp.record.snapshot.index import list_under_way
from gitcp.steps import undo
from gitcp.steps.back import ignored, kept_bytes, plan
from gitcp.steps.back.moments import find_point_tree, read_tree
from gitcp.steps.back.plan import Action, Facts, WantedChange, is_below
from gitcp.steps.back.point import describe_lacking
from gitcp.steps.back.present import Owners
from gitcp.steps.back.taking_back import EditEntries, join_edits, take_back
from gitcp.steps.step import KEEP, MARKERS, Conflict
from gitcp.text import term
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.record.looks.taken import TakenCall
    from gitcp.steps.back.kept_bytes import Known
    from gitcp.steps.back.point import Point
    from gitcp.steps.back.present import Moment, Present
    from gitcp.steps.step import Effect

    Wisher = Callable[[Present], "Wish"]
    Edits = Mapping[str, Sequence[EditEntries]]  # path -> its edits, in order

_IGNORED = "ignored when it was written"  # why a file's content is not recorded
_BOTH = "changed since in the same place (--conflict=markers keeps both, =keep what is there)"


@dataclass(slots=True)
class Wish:
    """Actions wanted in the worktree, conflicts of contents, notes.

    merged: path -> the blobs of which a merge brings lines into the present content.  raw: bytes
    and permissions that git does not keep.  effects: on files that git ignores."""

    actions: list[Action] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    merged: dict[str, list[str]] = field(default_factory=dict)
    raw: Known = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)


def wish_nothing(*notes: str) -> Wisher:
    """Build the wish that changes no file."""
    return lambda present: Wish(notes=[*notes])


def go_to_point(point: Point, scopes: Sequence[str]) -> Wisher:
    """Build the wish for the worktree as it was at a point, limited to scopes (paths from the
    root; none: all)."""
    return partial(_wish_point, point, scopes)


def _wish_point(point: Point, scopes: Sequence[str], present: Present) -> Wish:
    objects = present.repo.objects
    notes: list[str] = []
    if point.is_moment and not point.worktree:
        moment = read_tree(present, point.id)
        tree = moment.tree
        if moment.commit:
            commit = abbreviate(moment.commit)
            notes.append(f"the point is from before commit {commit}; HEAD stays where it is")
    else:
        tree = find_point_tree(present, point)
        notes += _describe_base(point, present)
    calls = ignored.list_since(present.repo, point, present.lines)
    returning = ignored.plan_return(present.repo, calls, scopes, point.session_id)
    known = Lookup(objects, tree)
    _refuse_unknown(present, scopes, lambda path: known(path) or _has_below(returning.paths, path))
    base = find_tree(objects, point.base_commit)
    facts = _gather_facts(present, base, point.session_id)
    facts.left_out = {**_read_left_out(objects, point), **present.left_out}
    changes: list[WantedChange] = []
    for path, was, now in compare_trees(objects, present.tree, tree):
        if is_below(path, scopes):
            changes.append(WantedChange(path, was, now))
    lacking = describe_lacking(point.kind, point.lacking)
    if lacking:
        notes.append(lacking)
    notes += _describe_operations(present)
    return Wish(
        plan.plan_tree(changes, facts),
        notes=[*notes, *returning.notes, *_describe_large(present, point, scopes)],
        raw=_read_raw(present, point),
        effects=returning.effects,
    )


def go_to_tree(tree: str) -> Wisher:
    """Build the wish for the worktree with the files of a tree, whoever made them, for a test."""
    return partial(_wish_tree, tree)


def _wish_tree(tree: str, present: Present) -> Wish:
    changes: list[WantedChange] = []
    for path, was, now in compare_trees(present.repo.objects, present.tree, tree):
        if not path.startswith(plan.OURS):
            changes.append(WantedChange(path, was, now, "for a test"))
    return Wish(plan.plan_paths(changes, _gather_facts(present)))


def _has_below(paths: Iterable[str], scope: str) -> bool:
    return any(is_below(path, [scope]) for path in paths)


def _refuse_unknown(present: Present, scopes: Iterable[str], look: Callable[[str], object]) -> None:
    """Raise Error for a path that neither the snapshot of the worktree nor look has."""
    for path in scopes:
        if not path or present.look(path) or look(path):
            continue
        st = present.worktree.look_at(path)
        if st and not stat.S_ISDIR(st.st_mode):
            why = present.left_out.get(path, "ignored by git")
            raise Error(f"'{path}' is not recorded ({why}): it stays as it is")
        raise Error(f"no file '{path}' in the worktree, and none at the point")


def _read_raw(present: Present, point: Point) -> Known:
    """For a point before a step, the bytes and permissions that the step kept."""
    if point.kind != "safety":
        return {}
    chosen = [step for step in undo.read_steps(present.repo) if step.commit == point.id]
    return kept_bytes.read_steps(present.repo.objects, chosen)


def _read_left_out(objects: Objects, point: Point) -> dict[str, str]:
    """path -> the reason why the point's snapshot left it out."""
    if not point.metadata_dir:
        return {}
    entry = Lookup(objects, point.tree)(f"{point.metadata_dir}/omitted.json")
    if entry is None:
        return {}
    omitted = json.loads(objects.need(entry[1], "blob"))
    return {item["path"]: item["reason"] for item in omitted}


def _describe_large(present: Present, point: Point, scopes: Sequence[str]) -> list[str]:
    """A note for each file over a limit that was there at a point and is not any more."""
    if point.worktree:
        return []
    time = ignored.find_time(point, present.lines)
    notes: list[str] = []
    for path, seen in credit.map_large(present.lines).items():
        before = [line for line in seen if line.at <= time]
        is_gone = bool(before and before[-1].stamp) and not seen[-1].stamp
        if is_gone and is_below(path, scopes):
            notes.append(f"'{path}' does not come back: it was too large to be kept")
    return notes


def _describe_base(point: Point, present: Present) -> list[str]:
    base = point.base_commit
    if not base or base == (present.head or "0" * len(base)):
        return []
    head = abbreviate(present.head or "") or "unborn"
    return [
        f"the point stands on commit {abbreviate(base)}, HEAD is {head}; HEAD stays where it is"
    ]


def _describe_operations(present: Present) -> list[str]:
    """A sentence for each operation of git that is under way in this worktree."""
    return [
        f"{what} is under way; it is neither ended nor continued"
        for what in list_under_way(present.repo)
    ]


def _gather_facts(present: Present, base: str | None = None, session_id: str = "") -> Facts:
    """The facts that a plan needs; base: the tree of the point's base commit, None if unknown;
    session_id: the point's session."""
    head = Lookup(present.repo.objects, present.head_tree)
    before = Lookup(present.repo.objects, base)
    owners = Owners(present)
    hidden: set[str] = set()
    for path in scan.list_sparse(present.repo):
        if not os.path.lexists(present.worktree.join_full(path)):
            hidden.add(path)
    return Facts(
        head=lambda path: find_file(head, path),
        base=lambda path: find_file(before, path),
        owner=owners.find_owner,
        writer=owners.find_writer,
        edited=lambda path, version: _format_time(owners.find_edit(path, version)),
        theirs=lambda path, version: owners.find_other(path, version, session_id),
        committed=owners.is_committed,
        left_out=dict(present.left_out),
        hidden=hidden,
    )


def _format_time(edit: Edit | None) -> str:
    """The local time of an edit, with the date if it is old; '' for None."""
    if edit is None:
        return ""
    return term.format_clock(edit.made // 10**9)


def leave_out_edits(edits: Edits, conflict: str, why: str, raw: Known | None = None) -> Wisher:
    """Build the wish for the worktree without some edits; later edits of the same files stay.

    conflict: one of CONFLICTS.  why: the reason of the actions.
    """
    return partial(_leave_out, edits, conflict, why, raw or {})


def _leave_out(edits: Edits, conflict: str, why: str, raw: Known, present: Present) -> Wish:
    merge = partial(merge_blobs, present.repo)
    changes: list[WantedChange] = []
    wish = Wish(notes=_describe_operations(present), raw=raw)
    unchanged: list[Action] = []
    for path, own in edits.items():
        current = present.get_file(path)
        result = take_back(current, join_edits(own), merge)
        target = result.version
        if result.is_clean or (conflict == MARKERS and target != current):
            reason = why
            if current is not None and own[-1].after != current:
                wish.merged[path] = [edit.before[1] for edit in own if edit.before]
                reason = f"{why}, with what was changed since"
            if target != current:
                changes.append(WantedChange(path, current, target, reason))
        elif conflict == KEEP:
            reason = "changed since, and the change cannot be unchanged beside it"
            unchanged.append(Action(path, plan.KEEP, current, target, reason))
        else:
            wish.conflicts.append(Conflict(path, _BOTH))
    wish.actions += plan.plan_paths(changes, _gather_facts(present))
    wish.actions += unchanged
    return wish


@dataclass(slots=True)
class Takings:
    """What is taken back: the lines of find_edits() below scopes, and the calls of which ignored
    files come back."""

    lines: Sequence[Moment]
    scopes: Sequence[str]
    calls: Sequence[TakenCall] = ()


def take_back_edits(takings: Takings, conflict: str) -> Wisher:
    """Build the wish for the worktree without some edits.  Later edits by others stay, and so do
    files whose content is not recorded."""
    return partial(_wish_without, takings, conflict)


def _wish_without(takings: Takings, conflict: str, present: Present) -> Wish:
    scopes = takings.scopes
    lines = [line for line in credit.list_edits(takings.lines) if is_below(line.path, scopes)]
    unkept = sorted({line.path for line in lines if not line.is_kept})
    edits: dict[str, list[EditEntries]] = {}
    for line in lines:
        if line.path not in unkept:
            edits.setdefault(line.path, []).append(EditEntries(line.before, line.after))
    session_id = ""
    if takings.calls:
        session_id = takings.calls[0]["session"]
    returning = ignored.plan_return(present.repo, takings.calls, scopes, session_id)
    known = [*edits, *unkept, *returning.paths]
    _refuse_unknown(present, scopes, lambda scope: _has_below(known, scope))
    lost = _list_lost(present.repo.objects, edits)
    if lost and conflict != KEEP:
        return Wish(conflicts=lost)
    wish = _leave_out(edits, conflict, "taken back", {}, present)
    kept: list[Action] = []
    for path in unkept:
        if path not in returning.paths:
            kept.append(Action(path, plan.KEEP, None, None, _IGNORED))
    notes = [*wish.notes]
    lacking = describe_lacking("tool", _list_unseen(takings.lines))
    if lacking:
        notes.append(lacking)
    return replace(
        wish,
        actions=[*wish.actions, *kept],
        notes=[*notes, *returning.notes],
        effects=returning.effects,
    )


def _list_lost(objects: Objects, edits: Edits) -> list[Conflict]:
    """Conflicts for the paths of which a content is not kept any more."""
    lost: list[Conflict] = []
    for path, own in edits.items():
        ends = [end for edit in own for end in (edit.before, edit.after)]
        if any(end and objects.read(end[1]) is None for end in ends):
            lost.append(Conflict(path, "its content is not kept any more"))
    return lost


def _list_unseen(lines: Iterable[Moment]) -> Collection[str]:
    """The paths that calls may have overwritten before anybody had seen them."""
    unseen: dict[str, None] = {}
    for line in lines:
        if isinstance(line, Opening):
            unseen.update(dict.fromkeys(line.unseen))
    return unseen
