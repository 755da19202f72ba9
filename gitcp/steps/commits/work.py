"""What a session, a turn or the person changed, committed or not, as two trees to compare."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.git.objects import Lookup, edit_tree, find_file
from gitcp.lines.edit_lines import Edits
from gitcp.record.journal.credit import parse_entry
from gitcp.steps.back.restore import Present, read_present
from gitcp.steps.commits import parts
from gitcp.steps.commits.stage import (
    Selection,
    find_creator,
    get_writer,
    list_operations,
    read_text,
)
from gitcp.text.ids import COMMIT, PERSON, UNKNOWN, build_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo
    from gitcp.steps.commits.stage import Change
    from gitcp.text.record_types import Entry, JournalLine, Version


def read_work(repo: Repo) -> Work:
    """The recorded edits of this worktree, with those that no hook has seen yet."""
    present = read_present(repo, dry=True)
    return Work(present, present.kept_edits.list_all())


class Work:
    """Tells apart what authors changed in a worktree, by its edits."""

    def __init__(self, present: Present, edits: Sequence[JournalLine]) -> None:
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
        raise Error("no turn has changed a file here")

    def list_sessions(self) -> list[str]:
        """The sessions that changed a file which is not as HEAD has it."""
        found: dict[str, None] = {}
        for line in self.edits:
            session_id = get_writer(line)[0]
            if session_id and line["path"] in self._present.entries:
                found[session_id] = None
        return list(found)

    def make_trees(self, selection: Selection) -> tuple[str, str]:
        """The trees, for git, of the changed files before and after the work of a session or a
        turn, without what others changed in them meanwhile; for what no agent wrote, since HEAD.
        Raises Error if a content is not kept any more."""
        if selection.by_hand:
            pairs = self._list_open()
        else:
            pairs = self._list_edited(selection)
        self._replays.read_ahead({path: build_change(*pair) for path, pair in pairs.items()})
        olds = {path: old for path, (old, _) in pairs.items()}
        news = {path: self._divide(selection, path, *pair) for path, pair in pairs.items()}
        trees = edit_tree(self._objects, None, olds), edit_tree(self._objects, None, news)
        self._objects.flush()
        return trees

    def _list_open(self) -> dict[str, Change]:
        head = Lookup(self._objects, self._present.head_tree)
        return {p: (find_file(head, p), entry) for p, entry in self._present.entries.items()}

    def _list_edited(self, selection: Selection) -> dict[str, Change]:
        selected: dict[str, list[JournalLine]] = {}
        for line in self.edits:
            if selection.has(get_writer(line)):
                selected.setdefault(line["path"], []).append(line)
        return {
            path: (parse_entry(lines[0]["before"]), parse_entry(lines[-1]["after"]))
            for path, lines in selected.items()
        }

    def _divide(self, selection: Selection, path: str, old: Version, new: Version) -> Version:
        """The version of a path after the selected work alone."""
        chain = self._replays.trace_content(path)
        selected = [line for line in chain if selection.has(get_writer(line))]
        if len(selected) == len(chain):
            return new if chain or selection.has(PERSON) else old
        first = self._read(path, old)
        last = self._read(path, new)
        if new is None or first is None or last is None:
            if any(parse_entry(line["after"]) == new for line in selected):
                return new
            return old
        creator = find_creator(chain)
        operations = list_operations(
            self._replays, path, (old, new), (first, last), UNKNOWN if old else creator
        )
        # Even those that overlap others', or need them: nothing is staged.
        taken = {
            n for n, o in enumerate(operations) if o.kind != parts.KEPT and selection.has(o.who)
        }
        if old is None and not taken:
            if last or not selection.has(creator):
                return None
            return new
        newlines = first.endswith(b"\n"), last.endswith(b"\n")
        data = parts.build_content(operations, taken, newlines, takes_end=True)
        return _choose_mode(selected, old, new), self._objects.write("blob", data)

    def _read(self, path: str, version: Version) -> bytes | None:
        gone = version and version[0] != COMMIT and not self._objects.packs.has(version[1])
        if gone and self._objects.read_blob(version[1] if version else "") is None:
            raise Error(f"the content of '{path}' is not kept any more")
        return read_text(self._objects, version)


def _choose_mode(edits: Sequence[JournalLine], old: Version, new: Entry) -> str:
    """The mode of a path after the edits of some authors."""
    if old is None or old[0] == new[0]:
        return new[0]
    ends = ((parse_entry(line["before"]), parse_entry(line["after"])) for line in edits)
    return next((new[0] for a, b in ends if a and b and a[0] != b[0]), old[0])
