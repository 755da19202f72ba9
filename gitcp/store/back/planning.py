"""Making a plan: a wish checked against the worktree as it is on disk."""

from __future__ import annotations

import os
import stat

from gitcp.core.back import plan
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.back.present import find_other_names, read_signatures
from gitcp.store.git.tree import Lookup, edit_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gitcp.core.back.plan import Action, Conflict, Plan
    from gitcp.store.back.present import Present, Signature
    from gitcp.store.back.wishes import Wisher
    from gitcp.store.snapshot.worktree import Worktree


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
