"""What a session, a turn or the person changed, committed or not, as two trees to compare."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.git.objects import Lookup, edit_tree, find_file
from gitcp.lines.edit_lines import Edits
from gitcp.steps.back.present import Present, read_present
from gitcp.steps.commits.selection import Selection
from gitcp.steps.whose import parts
from gitcp.steps.whose.path_history import (
    PathChange,
    PathHistory,
    PathTexts,
    get_last_mode_edit,
    get_writer,
    read_text,
)
from gitcp.text.ids import COMMIT, PERSON, UNKNOWN, build_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Version


def read_work(repo: Repo) -> DividedWork:
    """The recorded edits of this worktree, with those that no hook has seen yet."""
    present = read_present(repo, dry=True)
    return DividedWork(present, present.kept_edits.list_all())


class DividedWork:
    """Tells apart what authors changed in a worktree, by its edits."""

    def __init__(self, present: Present, edits: Sequence[Edit]) -> None:
        self._present = present
        self.edits = edits
        self._objects = present.repo.objects
        self._replays = Edits(self._objects, edits)

    def find_last_turn(self) -> Selection:
        """The newest turn that changed a file.  Raises Error if there is none."""
        for line in reversed(self.edits):
            session_id, turn, _ = get_writer(line)
            if session_id and turn:
                return Selection([session_id], turn=turn)
        raise Error("no prompt has changed a file here")

    def list_sessions(self) -> list[str]:
        """The sessions that changed a file which is not as HEAD has it."""
        found: dict[str, None] = {}
        for line in self.edits:
            session_id = get_writer(line)[0]
            if session_id and line.path in self._present.entries:
                found[session_id] = None
        return list(found)

    def make_trees(self, selection: Selection) -> list[str]:
        """The trees, for git, of the changed files before and after the work of a session or a
        turn, without what others changed in them meanwhile; for what no agent wrote, since HEAD.
        Raises Error if a content is not kept any more."""
        if selection.by_hand:
            changes = self._list_open()
        else:
            changes = self._list_edited(selection)
        pairs = {path: build_change(one.old, one.new) for path, one in changes.items()}
        self._replays.read_ahead(pairs)
        olds: dict[str, Version] = {}
        news: dict[str, Version] = {}
        for path, change in changes.items():
            olds[path] = change.old
            news[path] = self._divide(selection, path, change)
        trees = [edit_tree(self._objects, None, olds), edit_tree(self._objects, None, news)]
        self._objects.flush()
        return trees

    def _list_open(self) -> dict[str, PathChange]:
        head = Lookup(self._objects, self._present.head_tree)
        changes: dict[str, PathChange] = {}
        for path, entry in self._present.entries.items():
            changes[path] = PathChange(find_file(head, path), entry)
        return changes

    def _list_edited(self, selection: Selection) -> dict[str, PathChange]:
        changes: dict[str, PathChange] = {}
        for line in self.edits:
            if not selection.has(get_writer(line)):
                continue
            path = line.path
            after = line.after
            if path in changes:
                changes[path] = PathChange(changes[path].old, after)
            else:
                changes[path] = PathChange(line.before, after)
        return changes

    def _divide(self, selection: Selection, path: str, change: PathChange) -> Version:
        """The version of a path after the selected work alone."""
        old = change.old
        new = change.new
        history = PathHistory(self._replays, path)
        if not history.chain:
            if selection.has(PERSON):
                return new
            return old
        selected = [line for line in history.chain if selection.has(get_writer(line))]
        if len(selected) == len(history.chain):
            return new
        first = self._read(path, old)
        last = self._read(path, new)
        if new is None or first is None or last is None:
            if any(line.after == new for line in selected):
                return new
            return old
        creator = history.find_creator()
        fallback = creator
        if old:
            fallback = UNKNOWN
        operations = history.list_operations(change, PathTexts(first, last), fallback)
        # Even those that overlap others', or need them: nothing is staged.
        taken: set[int] = set()
        for number, operation in enumerate(operations):
            if operation.kind != parts.KEPT and selection.has(operation.who):
                taken.add(number)
        if old is None and not taken:
            if last or not selection.has(creator):
                return None
            return new
        newlines = first.endswith(b"\n"), last.endswith(b"\n")
        data = parts.build_content(operations, taken, newlines, takes_end=True)
        mode = new[0]
        if old and old[0] != mode and get_last_mode_edit(selected) is None:
            mode = old[0]
        return mode, self._objects.write("blob", data)

    def _read(self, path: str, version: Version) -> bytes | None:
        if version is None or version[0] == COMMIT or self._objects.packs.has(version[1]):
            return read_text(self._objects, version)
        if self._objects.read_blob(version[1]) is None:
            raise Error(f"the content of '{path}' is not kept any more")
        return read_text(self._objects, version)
