"""A plan for a scan of the worktree, by what is on disk; and previews of several."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from gitcp.errors import Error
from gitcp.git import decode_name
from gitcp.git.objects import Lookup, edit_tree
from gitcp.steps.back import plan
from gitcp.steps.back.plan import Action, Plan, list_effective
from gitcp.steps.back.present import read_present
from gitcp.steps.back.signatures import find_other_names, read_signatures
from gitcp.steps.back.wishes import go_to_point, wish_nothing
from gitcp.steps.step import Conflict
from gitcp.text import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.snapshot import Worktree
    from gitcp.steps.back.kept_bytes import Known
    from gitcp.steps.back.point import Point
    from gitcp.steps.back.present import Present
    from gitcp.steps.back.signatures import Signature
    from gitcp.steps.back.wishes import Wisher
    from gitcp.steps.step import Effect

DIFF = "diff --no-color --no-ext-diff --no-textconv".split()
_LONGEST = 200_000  # bytes of a patch that are shown before a choice


@dataclass(slots=True)
class Prepared:
    """A plan and the scan of the worktree that it was made for."""

    present: Present
    merged: dict[str, list[str]]  # path -> the blobs whose lines a merge brings back
    raw: Known
    plan: Plan
    todo: list[Action]
    tree: str  # the worktree after the plan
    signs: dict[str, Signature]  # the current one of each path that changes
    effects: list[Effect]  # on files that git ignores


def prepare(present: Present, wisher: Wisher) -> Prepared:
    """Plan what a wisher wants, for a scan of the worktree."""
    repo = present.repo
    _ = present.lines  # unseen edits are recorded in the journal before the step is
    wish = wisher(present)
    checked = _Checked(present, wish.actions)
    actions = sorted(checked.actions, key=lambda action: action.path)
    todo = list_effective(actions)
    edits = {action.path: action.now for action in todo}
    tree = edit_tree(repo.objects, present.tree, edits)
    conflicts = [*wish.conflicts, *checked.conflicts, *plan.find_name_conflicts(todo)]
    if repo.config.get_flag("core.ignorecase"):
        conflicts += _find_twins(Lookup(repo.objects, tree), todo)
    planned = Plan(actions, conflicts, wish.notes)
    signs = read_signatures(repo, edits)
    return Prepared(present, wish.merged, wish.raw, planned, todo, tree, signs, wish.effects)


def refuse_conflicts(conflicts: Sequence[Conflict]) -> None:
    """Raise Error naming every conflict, if there is any."""
    if conflicts:
        lines = [f"'{conflict.path}': {conflict.reason}" for conflict in conflicts]
        raise Error("nothing was changed, because of\n  " + "\n  ".join(lines))


class _Checked:
    """Actions by the files on disk that no tree has: those that must not be done are a keep with
    its reason.  conflicts: those with such files."""

    def __init__(self, present: Present, wanted: Sequence[Action]) -> None:
        self._present = present
        self._work = present.worktree
        todo = list_effective(wanted)
        self._gone = {action.path for action in todo if action.now is None}
        self._renamed = find_other_names(present.repo, (action.path for action in todo))
        self.conflicts: list[Conflict] = []
        self.actions = [self._check(action) for action in wanted]

    def _check(self, action: Action) -> Action:
        path = action.path
        if action.verb == plan.KEEP:
            return action
        if not action.was and self._work.list_repositories(path):
            return replace(action, verb=plan.KEEP, reason="in a repository of its own")
        if action.now is None:
            return action
        st = None
        if action.was is None:
            st = self._work.look_at(path)
        if st and stat.S_ISDIR(st.st_mode):
            self._add_conflict(path, _find_file_below(self._work, path, self._gone))
        elif st and path not in self._renamed:
            why = self._present.left_out.get(path, "ignored by git")
            return replace(action, verb=plan.KEEP, reason=f"something stands there ({why})")
        else:
            self._add_conflict(path, _find_file_above(self._work, path, self._gone))
        return action

    def _add_conflict(self, path: str, reason: str) -> None:
        if reason:
            self.conflicts.append(Conflict(path, reason))


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
            if folder in gone:
                return ""
            return f"'{folder}' is in its way, a file that no session made"
    return ""


def _find_file_below(work: Worktree, path: str, gone: Collection[str]) -> str:
    """The conflict with a file in the directory at path that the plan does not delete."""
    for folder, folders, names in os.walk(work.join_full(path)):
        links = [n for n in folders if os.path.islink(os.path.join(folder, n))]
        for name in [*names, *links]:
            inside = decode_name(os.path.relpath(os.path.join(folder, name), work.top))
            if inside not in gone:
                return f"'{inside}' would be lost with its directory"
    return ""


def _find_twins(after: Lookup, todo: Iterable[Action]) -> list[Conflict]:
    """Conflicts for names that differ in case alone, on a file system that ignores case."""
    conflicts: dict[str, Conflict] = {}
    for action in todo:
        if action.now is None:
            continue
        parts = action.path.split("/")
        for n, name in enumerate(parts):
            folder = after.read_folder("/".join(parts[:n]))
            other = [x for x in folder if x != name and x.casefold() == name.casefold()]
            if other:
                path = "/".join(parts[: n + 1])
                conflicts[path] = Conflict(path, f"cannot stand beside '{other[0]}' here")
    return list(conflicts.values())


class Preview:
    """What going to each point would do, all for one scan of the worktree."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._present: Present | None = None
        self._prepared: dict[str, Prepared] = {}

    def get_plan(self, point: Point) -> Plan:
        """The plan to go to a point; without actions if no file changes."""
        return self._prepare(point).plan

    def draw_diff(self, point: Point) -> list[str]:
        """The first rows of the patch that going to a point would make."""
        prepared = self._prepare(point)
        trees = prepared.present.tree, prepared.tree
        self._repo.objects.flush()
        out = b""
        if prepared.todo:
            out = self._repo.git.run(*DIFF, *trees)[1]
        return decode_name(out[:_LONGEST]).splitlines()

    def count_verbs(self, point: Point) -> dict[str, int] | None:
        """verb -> number of paths; None for a point that has no files."""
        if not point.can_be_gone_to:
            return None
        return plan.count_verbs(self.get_plan(point).actions)

    def _prepare(self, point: Point) -> Prepared:
        if point.id not in self._prepared:
            self._present = self._present or read_present(self._repo, dry=True)
            if point.can_be_gone_to:
                way = go_to_point(point, ())
            else:
                way = wish_nothing()
            try:
                prepared = prepare(self._present, way)
            except Error as e:
                prepared = prepare(self._present, wish_nothing(str(e)))
            self._prepared[point.id] = prepared
        return self._prepared[point.id]
