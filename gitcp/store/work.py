"""What a session, a turn or the person changed, committed or not, as two trees to compare."""

from __future__ import annotations

from gitcp.core import line_replay, parts
from gitcp.core.credit import PERSON, UNKNOWN, parse_entry
from gitcp.core.formats import COMMIT
from gitcp.core.line_replay import split_lines
from gitcp.errors import Error
from gitcp.store.back.restore import Present
from gitcp.store.lines.edit_lines import Edits
from gitcp.store.objects import Lookup, edit_tree, find_file
from gitcp.store.stage import Selection, find_creator, get_writer, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core import record_types
    from gitcp.core.record_types import Entry, JournalLine, Version
    from gitcp.repo import Repo

    Pair = tuple[Version, Version]


class Work:
    """The recorded edits of this worktree, with those that no hook has seen yet."""

    def __init__(self, repo: Repo) -> None:
        self._repo, self._present = repo, Present(repo, dry=True)
        self.edits = self._present.kept_edits.list_all()
        self._replays = Edits(repo.objects, self.edits)

    def find_last_turn(self) -> Selection:
        """The newest turn that changed a file.  Raises Error if there is none."""
        for line in reversed(self.edits):
            session_id, turn, _ = get_writer(line)
            if session_id and turn:
                return Selection([session_id], turn=turn)
        raise Error("no turn has changed a file here")

    def make_trees(self, selection: Selection) -> tuple[str, str]:
        """The trees, for git, of the changed files before and after the work of a session or a
        turn, without what others changed in them meanwhile; for what no agent wrote, since HEAD.
        Raises Error if a content is not kept any more."""
        pairs = self._list_open() if selection.by_hand else self._list_edited(selection)
        self._replays.read_ahead(
            {p: (*(old or ("", None)), *(new or ("", None))) for p, (old, new) in pairs.items()}
        )
        olds: dict[str, record_types.Version] = {path: old for path, (old, _) in pairs.items()}
        news = {path: self._divide(selection, path, *pair) for path, pair in pairs.items()}
        first, last = (edit_tree(self._repo.objects, None, side) for side in (olds, news))
        self._repo.objects.flush()
        return first, last

    def _list_open(self) -> dict[str, Pair]:
        head = Lookup(self._repo.objects, self._present.head_tree)
        return {p: (find_file(head, p), entry) for p, entry in self._present.entries.items()}

    def _list_edited(self, selection: Selection) -> dict[str, Pair]:
        own: dict[str, list[JournalLine]] = {}
        for line in self.edits:
            if selection.has(get_writer(line)):
                own.setdefault(line["path"], []).append(line)
        return {
            path: (parse_entry(lines[0]["before"]), parse_entry(lines[-1]["after"]))
            for path, lines in own.items()
        }

    def _divide(
        self, selection: Selection, path: str, old: record_types.Version, new: record_types.Version
    ) -> record_types.Version:
        """The version of a path after the selected work alone."""
        chain = self._replays.trace_content(path)
        own = [line for line in chain if selection.has(get_writer(line))]
        if len(own) == len(chain):
            return new if chain or selection.has(PERSON) else old
        texts = [self._read(path, version) for version in (old, new)]
        if new is None or texts[0] is None or texts[1] is None:
            return new if any(parse_entry(line["after"]) == new for line in own) else old
        ends = [
            line_replay.Version(version[1] if version else "", split_lines(text or b""))
            for version, text in zip((old, new), texts, strict=True)
        ]
        weave = self._replays.replay_as(parts.Weave, path, ends[0])
        if not weave.knows(ends[1]):
            weave.add_step(ends[1], PERSON)
        creator = find_creator(chain)
        operations = parts.list_operations(weave, ends[0], ends[1], UNKNOWN if old else creator)
        taken = parts.take_all(operations, selection.has)
        if old is None and not taken:
            return None if texts[1] or not selection.has(creator) else new
        newlines = texts[0].endswith(b"\n"), texts[1].endswith(b"\n")
        data = parts.build_content(operations, taken, newlines, takes_end=True)
        return _choose_mode(own, old, new), self._repo.objects.write("blob", data)

    def _read(self, path: str, version: record_types.Version) -> bytes | None:
        gone = version and version[0] != COMMIT and not self._repo.objects.packs.has(version[1])
        if gone and self._repo.objects.read_blob(version[1] if version else "") is None:
            raise Error(f"the content of '{path}' is not kept any more")
        return read_text(self._repo.objects, version)


def _choose_mode(own: Sequence[JournalLine], old: record_types.Version, new: Entry) -> str:
    """The mode of a path after the edits of some authors."""
    if old is None or old[0] == new[0]:
        return new[0]
    ends = ((parse_entry(line["before"]), parse_entry(line["after"])) for line in own)
    return next((new[0] for a, b in ends if a and b and a[0] != b[0]), old[0])
