"""Making a plan: a wish checked against the worktree as it is on disk."""

from __future__ import annotations

import json
import os
import stat
import time
from functools import partial

from gitcp.core.back import lineage, plan, three_way
from gitcp.core.back.point_list import describe_lacking
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.auto.refusal import list_under_way
from gitcp.store.back import raw_files
from gitcp.store.back.merging import merge_blobs
from gitcp.store.back.present import Owners, Present, find_other_names, read_signatures
from gitcp.store.git.tree import Lookup, compare_trees, edit_tree, find_file, find_tree
from gitcp.store.snapshot import snapshot
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import TypedDict

    from gitcp.core.back.plan import Action, Conflict, Facts, Plan
    from gitcp.core.back.point_list import Point
    from gitcp.core.back.undo_tree import Step
    from gitcp.core.record_types import JournalLine, Version
    from gitcp.repo import Repo
    from gitcp.store.back.present import Signature
    from gitcp.store.back.raw_files import Known
    from gitcp.store.git.objects import Objects
    from gitcp.store.snapshot.worktree import Worktree

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
EMPTY: Wish = {"actions": [], "conflicts": [], "notes": [], "merged": [], "raw": {}}
_RECENT = 20 * 3600  # seconds during which a time is shown without its date
_BOTH = "changed since in the same place (--conflict=markers keeps both, =keep what is there)"


class Prepared:
    """A plan and the scan of the worktree that it was made for.

    tree: the worktree after the plan; signs: the current signature of each path that changes.
    """

    def __init__(self, present: Present, wisher: Wisher) -> None:
        repo, objects = present.repo, present.objects
        _ = present.lines  # unseen edits are recorded in the journal before the step is
        self.present, wish = present, wisher(present)
        self.merged, self.raw = wish["merged"], wish["raw"]
        actions, conflicts = _check_disk(present, wish["actions"])
        self.plan: Plan = {
            "actions": sorted(actions, key=lambda a: a["path"]),
            "conflicts": [*wish["conflicts"], *conflicts],
            "notes": wish["notes"],
        }
        self.todo = plan.list_effective(self.plan["actions"])
        edits = {a["path"]: a["now"] for a in self.todo}
        self.tree = edit_tree(objects, self.present.tree, edits)
        self.plan["conflicts"] += plan.find_name_conflicts(self.todo)
        if repo.config.get_flag("core.ignorecase"):
            self.plan["conflicts"] += _find_twins(Lookup(objects, self.tree), self.todo)
        self.signs: dict[str, Signature] = read_signatures(repo, edits)


def refuse_conflicts(conflicts: Sequence[Conflict]) -> None:
    """Raise Error naming every conflict, if there is any."""
    if conflicts:
        lines = [f"'{c['path']}': {c['reason']}" for c in conflicts]
        raise Error("nothing is changed, for:\n  " + "\n  ".join(lines))


def _check_disk(present: Present, wanted: Sequence[Action]) -> tuple[list[Action], list[Conflict]]:
    """(the actions, those that must not be done as a keep with its reason; the conflicts), by the
    files on disk that no tree has."""
    work, todo = present.worktree, plan.list_effective(wanted)
    gone = {action["path"] for action in todo if action["now"] is None}
    renamed = find_other_names(present.repo, (action["path"] for action in todo))
    actions: list[Action] = []
    conflicts: list[Conflict] = []
    for action in wanted:
        path, reason, conflict = action["path"], "", ""
        st = work.look_at(path) if action["now"] and action["was"] is None else None
        if action["verb"] == plan.KEEP:
            pass
        elif not action["was"] and work.list_repositories(path):
            reason = "in a repository of its own"
        elif st and stat.S_ISDIR(st.st_mode):
            conflict = _find_file_below(work, path, gone)
        elif st and path not in renamed:
            why = present.left_out.get(path, "ignored by git")
            reason = f"something stands there ({why})"
        elif action["now"]:
            conflict = _find_file_above(work, path, gone)
        actions.append({**action, "verb": plan.KEEP, "reason": reason} if reason else action)
        conflicts += [{"path": path, "reason": conflict}] if conflict else []
    return actions, conflicts


def _find_file_above(work: Worktree, path: str, gone: Collection[str]) -> str:
    """The conflict with a file in place of a directory above path that the plan does not delete."""
    parts = path.split("/")[:-1]
    for n in range(len(parts)):
        folder = "/".join(parts[: n + 1])
        try:
            is_folder = stat.S_ISDIR(os.lstat(work.join_full(folder)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        if not is_folder:
            return (
                "" if folder in gone else f"'{folder}' is in its way, a file that no session made"
            )
    return ""


def _find_file_below(work: Worktree, path: str, gone: Collection[str]) -> str:
    """The conflict with a file in the directory at path that the plan does not delete."""
    for folder, folders, files in os.walk(work.join_full(path)):
        links = [n for n in folders if os.path.islink(os.path.join(folder, n))]
        for name in [*files, *links]:
            inside = decode_name(os.path.relpath(os.path.join(folder, name), work.top))
            if inside not in gone:
                return f"'{inside}' would be lost with its directory"
    return ""


def _find_twins(after: Lookup, todo: Iterable[Action]) -> list[Conflict]:
    """Conflicts for names that differ in case alone, on a file system that ignores case."""
    conflicts: dict[str, Conflict] = {}
    for action in todo:
        parts = action["path"].split("/") if action["now"] else []
        for n, name in enumerate(parts):
            folder = after.read_folder("/".join(parts[:n]))
            other = [x for x in folder if x != name and x.casefold() == name.casefold()]
            if other:
                path = "/".join(parts[: n + 1])
                conflicts[path] = {"path": path, "reason": f"cannot stand beside '{other[0]}' here"}
    return list(conflicts.values())


def plan_changes(
    present: Present,
    changes: Iterable[plan.Change],
    base: str | None,
    left_out: Mapping[str, str],
    notes: Iterable[str],
) -> Wish:
    """Build the wish for changes: (path, current entry, wanted entry) each.

    base: the tree of the point's base commit, None if unknown.  left_out: path -> the reason why
    the point's snapshot lacks it.
    """
    facts = gather_facts(present, base)
    facts["left_out"] = {**left_out, **present.left_out}
    all_notes = [*notes, *describe_operations(present.repo)]
    return {**EMPTY, "actions": plan.plan_tree(changes, facts), "notes": all_notes}


def gather_facts(present: Present, base: str | None = None) -> Facts:
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


def wish_nothing(present: Present) -> Wish:
    """The wish that changes no file."""
    return EMPTY


def go_to_snapshot(point: Point, scopes: Iterable[str]) -> Wisher:
    """Build the wish for the worktree as it was at a point, limited to scopes (paths from the
    root; none: all)."""
    paths = list(scopes)

    def make_wish(present: Present) -> Wish:
        objects = present.objects
        refuse_unknown(present, paths, Lookup(objects, point["tree"]))
        changes = compare_trees(objects, present.tree, point["tree"])
        below = [change for change in changes if plan.is_below(change[0], paths)]
        base, left_out = find_tree(objects, point["base_commit"]), _read_left_out(objects, point)
        notes = [
            *_describe_base(point, present),
            *filter(None, [describe_lacking(point["kind"], point["lacking"])]),
        ]
        wish = plan_changes(present, below, base, left_out, notes)
        return {**wish, "raw": _read_raw(present, point)}

    return make_wish


def refuse_unknown(present: Present, scopes: Iterable[str], look: Callable[[str], object]) -> None:
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
    if point["kind"] != "safety":
        return {}
    steps = undo_log.read_steps(present.repo)
    step: Step = next((step for step in steps if step["commit"] == point["id"]), {})
    before = undo_log.open_tree(present.objects, point["id"], "before")
    return {path: (before(path), raw_files.read_step(step, path)) for path in step.get("raw", {})}


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


def describe_operations(repo: Repo) -> list[str]:
    """A sentence for each operation of git that is under way in this worktree."""
    return [
        f"{what} is under way; it is neither ended nor continued" for what in list_under_way(repo)
    ]


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
        actions = [*plan.plan_paths(changes, gather_facts(present)), *unchanged]
        return {
            "actions": actions,
            "conflicts": conflicts,
            "notes": describe_operations(present.repo),
            "merged": merged,
            "raw": raw or {},
        }

    return make_wish
