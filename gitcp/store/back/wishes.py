"""What a step wants of the worktree: that of a point, or the present one without some edits."""

from __future__ import annotations

import json
import os
import stat
import time
from functools import partial

from gitcp.core.back import lineage, plan, three_way
from gitcp.core.back.point_list import describe_lacking
from gitcp.core.credit import entries
from gitcp.errors import Error
from gitcp.store.auto.refusal import list_under_way
from gitcp.store.back import moments, raw_files
from gitcp.store.back.merging import merge_blobs
from gitcp.store.back.present import Owners
from gitcp.store.git.tree import Lookup, compare_trees, find_file, find_tree
from gitcp.store.snapshot import snapshot
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypedDict

    from gitcp.core.back.plan import Action, Conflict, Facts
    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import JournalLine, Version
    from gitcp.store.back.present import Present
    from gitcp.store.back.raw_files import Known
    from gitcp.store.git.objects import Objects

    class Wish(TypedDict):
        """Actions wanted in the worktree, conflicts of contents, notes.  merged: the paths whose
        content is merged from several versions.  raw: bytes and permissions that git does not
        keep (raw_files)."""

        actions: list[Action]
        conflicts: list[Conflict]
        notes: list[str]
        merged: list[str]
        raw: Known

    Wisher = Callable[[Present], Wish]

    Edits = Mapping[str, Sequence[tuple[Version, Version]]]  # path -> (before, after), in order


REFUSE, MARKERS, KEEP = CONFLICTS = ("refuse", "markers", "keep")
_EMPTY: Wish = {"actions": [], "conflicts": [], "notes": [], "merged": [], "raw": {}}
_RECENT = 20 * 3600  # seconds during which a time is shown without its date
_BOTH = "changed since in the same place (--conflict=markers keeps both, =keep what is there)"


def wish_nothing(*notes: str) -> Wisher:
    """Build the wish that changes no file."""
    return lambda present: {**_EMPTY, "notes": [*notes]}


def go_to_point(point: Point, scopes: Sequence[str]) -> Wisher:
    """Build the wish for the worktree as it was at a point, limited to scopes (paths from the
    root; none: all)."""

    def make_wish(present: Present) -> Wish:
        objects, tree = present.objects, point["tree"]
        if point["kind"] in moments.KINDS:
            tree, commit = moments.read_tree(present, point["id"])
            note = f"the point is from before commit {commit[:7]}; HEAD stays where it is"
            notes = [note] if commit else []
        else:
            notes = _describe_base(point, present)
        _refuse_unknown(present, scopes, Lookup(objects, tree))
        facts = _gather_facts(present, find_tree(objects, point["base_commit"]))
        facts["left_out"] = {**_read_left_out(objects, point), **present.left_out}
        changes = compare_trees(objects, present.tree, tree)
        below = (change for change in changes if plan.is_below(change[0], scopes))
        lacking = describe_lacking(point["kind"], point["lacking"])
        notes = [*notes, *filter(None, [lacking]), *_describe_operations(present)]
        actions, raw = plan.plan_tree(below, facts), _read_raw(present, point)
        return {**_EMPTY, "actions": actions, "notes": notes, "raw": raw}

    return make_wish


def _refuse_unknown(present: Present, scopes: Iterable[str], look: Callable[[str], object]) -> None:
    """Raise Error for a path that neither the snapshot of the worktree nor look has."""
    for path in scopes:
        if path and not present.look(path) and not look(path):
            st = present.worktree.look_at(path)
            if st and not stat.S_ISDIR(st.st_mode):
                why = present.left_out.get(path, "ignored by git")
                raise Error(f"'{path}' is not recorded ({why}): it stays as it is")
            raise Error(f"no file '{path}' in the worktree, and none at the point")


def _read_raw(present: Present, point: Point) -> Known:
    """For a point before a step, the bytes and permissions that the step kept."""
    steps = undo_log.read_steps(present.repo) if point["kind"] == "safety" else ()
    chosen = [step for step in steps if step["commit"] == point["id"]]
    return raw_files.read_steps(present.objects, chosen)


def _read_left_out(objects: Objects, point: Point) -> dict[str, str]:
    """path -> the reason why the point's snapshot left it out."""
    listed = f"{point['metadata_dir']}/omitted.json"
    entry = Lookup(objects, point["tree"])(listed) if point["metadata_dir"] else None
    if entry is None:
        return {}
    omitted = json.loads(objects.need(entry[1], "blob"))
    return {item["path"]: item["reason"] for item in omitted}


def _describe_base(point: Point, present: Present) -> list[str]:
    base = point["base_commit"]
    if not base or base == (present.head or "0" * len(base)):
        return []
    head = (present.head or "")[:7] or "unborn"
    return [f"the point stands on commit {base[:7]}, HEAD is {head}; HEAD stays where it is"]


def _describe_operations(present: Present) -> list[str]:
    """A sentence for each operation of git that is under way in this worktree."""
    return [
        f"{what} is under way; it is neither ended nor continued"
        for what in list_under_way(present.repo)
    ]


def _gather_facts(present: Present, base: str | None = None) -> Facts:
    """The facts that a plan needs; base: the tree of the point's base commit, None if unknown."""
    head = Lookup(present.objects, present.head_tree)
    before = Lookup(present.objects, base)
    owners = Owners(present)
    return {
        "head": lambda path: find_file(head, path),
        "base": lambda path: find_file(before, path),
        "owner": owners.find_owner,
        "edited": lambda path, version: _format_time(owners.find_edit(path, version)),
        "committed": owners.is_committed,
        "left_out": dict(present.left_out),
        "hidden": {
            path
            for path in snapshot.list_sparse(present.repo)
            if not os.path.lexists(present.worktree.join_full(path))
        },
    }


def _format_time(edit: JournalLine | None) -> str:
    """The local time of an edit, with the date if it is old; '' for None."""
    if edit is None:
        return ""
    seconds = lineage.time_made(edit) // 10**9
    days = time.time() - seconds > _RECENT
    return time.strftime("%Y-%m-%d %H:%M" if days else "%H:%M", time.localtime(seconds))


def leave_out_edits(edits: Edits, conflict: str, why: str, raw: Known | None = None) -> Wisher:
    """Build the wish for the worktree without some edits; later edits of the same files stay.

    conflict: what to do with a path whose later edits do not merge: REFUSE, MARKERS or KEEP.
    """

    def make_wish(present: Present) -> Wish:
        merge = partial(merge_blobs, present.repo, present.objects)
        changes: list[tuple[str, Version, Version, str]] = []
        unchanged: list[Action] = []
        merged: list[str] = []
        conflicts: list[Conflict] = []
        for path, pairs in edits.items():
            current = present.get_file(path)
            target, clean = three_way.take_back(current, three_way.join_edits(pairs), merge)
            if clean or (conflict == MARKERS and target != current):
                both = current is not None and pairs[-1][1] != current
                merged += [path] if both else []
                reason = f"{why}, with what was changed since" if both else why
                changes += [(path, current, target, reason)] if target != current else []
            elif conflict == KEEP:
                reason = "changed since, and the change cannot be unchanged beside it"
                unchanged.append(plan.make_action(path, plan.KEEP, current, target, reason))
            else:
                conflicts.append({"path": path, "reason": _BOTH})
        actions = [*plan.plan_paths(changes, _gather_facts(present)), *unchanged]
        return {
            "actions": actions,
            "conflicts": conflicts,
            "notes": _describe_operations(present),
            "merged": merged,
            "raw": raw or {},
        }

    return make_wish


def take_back_edits(lines: Sequence[JournalLine], scopes: Sequence[str], conflict: str) -> Wisher:
    """Build the wish for the worktree without some lines of moments.find_edits(), limited to
    scopes.  Later edits by others stay."""
    pairs: dict[str, list[tuple[Version, Version]]] = {}
    for line in entries.list_edits(lines):
        if plan.is_below(line["path"], scopes):
            before, after = entries.parse_entry(line["before"]), entries.parse_entry(line["after"])
            pairs.setdefault(line["path"], []).append((before, after))
    leave_out = leave_out_edits(pairs, conflict, "taken back")
    unseen = dict.fromkeys(path for line in lines for path in line.get("unseen", ()))
    lacking = describe_lacking("tool", unseen)

    def make_wish(present: Present) -> Wish:
        _refuse_unknown(
            present, scopes, lambda scope: any(plan.is_below(p, [scope]) for p in pairs)
        )
        read = present.objects.read
        lost: list[Conflict] = [
            {"path": path, "reason": "its content is not kept any more"}
            for path, versions in pairs.items()
            if not all(e is None or read(e[1]) for pair in versions for e in pair)
        ]
        if lost and conflict != KEEP:
            return {**_EMPTY, "conflicts": lost}
        wish = leave_out(present)
        return {**wish, "notes": [*wish["notes"], *filter(None, [lacking])]}

    return make_wish
