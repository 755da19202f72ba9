"""The part of the worktree's change that some authors wrote, put into the index
(doc/behaviour.md "Staging a part")."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.git.objects import Lookup, find_file, find_tree
from gitcp.lines.edit_lines import Edits
from gitcp.record.journal import credit
from gitcp.record.snapshot import index, scan
from gitcp.steps import effects, undo
from gitcp.steps.back import plan
from gitcp.steps.back.present import Present, read_present
from gitcp.steps.commits.division import Division, Extra, PathDivision, count_lines
from gitcp.steps.whose.path_history import PathChange, PathHistory
from gitcp.text.ids import build_change
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.steps.commits.division import Part
    from gitcp.steps.commits.selection import Selection
    from gitcp.steps.whose.path_history import Move
    from gitcp.text.record_types import Version


class Stager:
    """Divides changes up to the worktree, as it is now, by their authors.

    base: the tree that the changes begin from.  edits: those that may have made them.  open_edits:
    (path, time) of those that no commit has.
    """

    def __init__(
        self, present: Present, base: str | None, edits: Edits, open_edits: set[tuple[str, int]]
    ) -> None:
        self.present = present
        self._objects = present.repo.objects
        self._base = Lookup(self._objects, base)
        self._edits = edits
        self._open = open_edits
        self._histories: dict[str, PathHistory] = {}

    def list_parts(
        self, selection: Selection, scopes: Sequence[str], extra: Extra | None = None
    ) -> Division:
        """What the work of some authors changes in the index, by path.

        scopes: the paths at or below which, none: all."""
        repo = self.present.repo
        staged = index.list_staged(repo, self.present.head_tree or repo.empty_tree)
        self._refuse_unknown(scopes, staged)
        changes: dict[str, PathChange] = {}
        notes: list[str] = []
        for path, change in self._list_changes(scopes, staged).items():
            if change.old and change.old[0].startswith("U"):
                notes.append(f"'{path}' is unmerged, and is left out")
            else:
                changes[path] = change
        for path, reason in self.present.left_out.items():
            if selection.by_hand and plan.is_below(path, scopes):
                notes.append(f"'{path}' is not recorded ({reason}), and is left out")
        division = self.divide(changes, selection, extra)
        division.notes += notes
        return division

    def divide(
        self, changes: Mapping[str, PathChange], selection: Selection, extra: Extra | None = None
    ) -> Division:
        """list_parts() of the changes of paths."""
        pairs = {path: build_change(one.old, one.new) for path, one in changes.items()}
        self._edits.read_ahead(pairs)
        division = Division()
        for path, change in changes.items():
            history = self._open_history(path)
            path_division = PathDivision(
                self._objects, self._edits, self._base, history, selection, extra or Extra()
            )
            result = path_division.choose_entry(change)
            division.overlaps += path_division.overlaps
            division.needs += path_division.needs
            if result != change.old:
                division.parts.append(self.count_lines(path, PathChange(change.old, result)))
        return division

    def count_lines(self, path: str, change: PathChange) -> Part:
        """The whole change of a path."""
        return count_lines(self._objects, path, change)

    def list_edits(self, path: str, change: PathChange) -> Sequence[Edit]:
        """The edits that made a change of a path; if not all of them are known, those that no
        commit has, or else all of the path."""
        history = self._open_history(path)
        run = history.list_run(change)
        if run is not None:
            return run
        move = self.find_move(path, change.old)
        if move:
            return history.list_since_move(move)
        open_edits = [line for line in history.chain if (line.path, line.at) in self._open]
        return open_edits or history.chain

    def find_move(self, path: str, old: Version) -> Move | None:
        """The move or copy by which there is a file at a path; None if the entry before, old, has
        one already."""
        if old is not None:
            return None
        return self._open_history(path).find_move(self._base)

    def _open_history(self, path: str) -> PathHistory:
        if path not in self._histories:
            self._histories[path] = PathHistory(self._edits, path)
        return self._histories[path]

    def _refuse_unknown(self, scopes: Sequence[str], staged: Mapping[str, Version]) -> None:
        """Raise Error for a scope with no file in the worktree, in HEAD or in the index."""
        for scope in scopes:
            if not scope or self.present.worktree.look_at(scope) or self._base(scope):
                continue
            if not any(plan.is_below(path, [scope]) for path in staged):
                raise Error(f"no file '{scope}' in the worktree, in HEAD or in the index")

    def _list_changes(
        self, scopes: Sequence[str], staged: Mapping[str, Version]
    ) -> dict[str, PathChange]:
        """path -> its entries in the index and in the worktree, if they differ."""
        present = self.present
        hidden: set[str] = set()
        if staged.keys() - present.entries:
            hidden = {*scan.list_sparse(present.repo)}
        changes: dict[str, PathChange] = {}
        for path in sorted({*present.entries, *staged}):
            if path.startswith(plan.OURS) or path in hidden or not plan.is_below(path, scopes):
                continue
            committed = find_file(self._base, path)
            change = PathChange(staged.get(path, committed), present.entries.get(path, committed))
            if change.old != change.new:
                changes[path] = change
        return changes


def read_change(repo: Repo, dry: bool) -> Stager:
    """What divides the change from HEAD to the worktree.  dry: write nothing into the journal."""
    present = read_present(repo, dry)
    edits = Edits(repo.objects, present.lines)
    opened = {(line.path, line.at) for line in credit.list_open_edits(present.lines)}
    return Stager(present, present.head_tree, edits, opened)


def read_change_since(repo: Repo, parent: str, dry: bool) -> Stager:
    """What divides the change since a commit ('' for none), whose edits commits may have, and may
    have been cut from the journal.  dry: as for read_change()."""
    present = read_present(repo, dry)
    edits = Edits(repo.objects, present.kept_edits.list_all())
    return Stager(present, find_tree(repo.objects, parent or None), edits, set())


def need_index(repo: Repo) -> None:
    """Raise Error unless there is a worktree with an index of the person's."""
    if repo.worktree and not repo.has_git:
        raise Error("jj has no index here: 'jj split <path>' divides its working copy")


def stage_parts(repo: Repo, found: Sequence[Part], reason: str) -> str:
    """Put parts into the index as a step of the undo log; return its id.  The caller has held the
    log's lock since it read the worktree.

    Raises Changed if the index is not as it was, and Busy if another git holds it."""
    old = {part.path: part.old for part in found}
    new = {part.path: part.new for part in found}
    step = ""

    def record() -> None:
        nonlocal step
        effect = effects.describe_staging(repo, old, new)
        what = f"{count_noun(len(found), 'file')} of {reason}"
        step = undo.record_step(repo, "stage", what, [effect])

    index.replace_entries(repo, old, new, record)
    return step
