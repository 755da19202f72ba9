"""Replaying the journal's edits of a path, to find the authors of its lines."""

from __future__ import annotations

from gitcp.record.journal import credit
from gitcp.text import line_credit, line_evidence, line_replay, pairing
from gitcp.text.ids import PERSON, UNKNOWN
from gitcp.text.line_replay import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set
    from typing import TypeVar

    from gitcp.git.objects import Changes, Objects
    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.text import record_types
    from gitcp.text.carry.moves import Place, Source
    from gitcp.text.carry.text import Text
    from gitcp.text.line_credit import PathCredit
    from gitcp.text.line_replay import Regains, Replay
    from gitcp.text.record_types import Writer

    # (path, blob, a commit that has it or '' to search the recent HEADs) -> line index -> author
    Committed = Callable[[str, str, str], Mapping[int, Writer]]
    Kind = TypeVar("Kind", bound=Replay)

_NOW = 1 << 63  # ns: after all edits
_MOST = 12  # paths that are searched for the lines of one edit
_MANY = 40  # changes of a look that are more than a person or an agent makes by hand
_FILES = ("100644", "100755", "120000")


class Edits:
    """A journal's edits, and the contents that they name, each read once."""

    def __init__(
        self, objects: Objects, lines: Sequence[JournalLine], committed: Committed | None = None
    ) -> None:
        """committed: finds the authors of a content that the journal knows only as committed."""
        self._objects = objects
        self._committed = committed
        self.reads_history = committed is not None
        self.lines = credit.list_edits(lines)
        self.by_path: dict[str, list[Edit]] = {}
        for line in self.lines:
            self.by_path.setdefault(line.path, []).append(line)
        self._counts: dict[int, int] = {}  # how many edits are of a look
        for line in self.lines:
            self._counts[line.at] = self._counts.get(line.at, 0) + 1
        self._settled = credit.list_settled_contents(lines)
        self._contents: dict[str, Version | None] = {"": Version("", ())}
        self._texts: dict[str, Text] = {}

    def is_of_many(self, at: int) -> bool:
        """Whether the look at a time saw more changes than one makes by hand: their lines are not
        looked for elsewhere."""
        return self._counts.get(at, 0) > _MANY

    def is_persons_alone(self, path: str) -> bool:
        """Whether no session can have a line at a path: all its edits are the person's, of looks
        that saw many."""
        for edit in self.by_path.get(path, ()):
            if edit.follows or not edit.is_persons_alone:
                return False
            if not self.is_of_many(edit.at):
                return False
        return True

    def read_text(self, content: Version) -> Text:
        """A content as carry() compares it."""
        if content.oid not in self._texts:
            from gitcp.text.carry.text import Text

            self._texts[content.oid] = Text(content.lines)
        return self._texts[content.oid]

    def get_content(self, mode: str, oid: str | None) -> Version | None:
        """A content; None if its blob is missing."""
        name = ""
        if oid and mode in _FILES:
            name = oid
        if name not in self._contents:
            blob = self._objects.read(name)
            if blob is None:
                self._contents[name] = None
            elif blob[1] == "blob":
                lines = line_evidence.split_text_lines(name, blob[2])
                self._contents[name] = Version(name, lines)
            else:
                self._contents[name] = Version(name, ())
        return self._contents[name]

    def _read_content(self, entry: record_types.Version) -> Version | None:
        """The content that an entry of a line names."""
        return self.get_content(*(entry or ("", "")))

    def trace_content(self, path: str) -> list[Edit]:
        """trace_content() of the journal's edits."""
        return credit.trace_content(self._list_related(path), path)

    def _list_related(self, path: str) -> list[Edit]:
        """The edits of a path, and of those that its content was moved or copied from, in order."""
        paths: set[str] = set()
        waiting = [path]
        while waiting:
            known = waiting.pop()
            paths.add(known)
            sources = {edit.follows for edit in self.by_path.get(known, ()) if edit.follows}
            waiting.extend(sources - paths)
        if len(paths) == 1:
            return self.by_path.get(path, [])
        return [edit for edit in self.lines if edit.path in paths]

    def credit_paths(
        self,
        changes: Changes,
        other_parents: Sequence[Mapping[str, tuple[str, str]]] = (),
    ) -> dict[str, PathCredit]:
        """Each changed path of a commit with the authors of its lines.

        changes: against the first parent.  other_parents: path -> entry in each other parent.
        """
        credited = {}
        self.read_ahead(changes)
        origins = self._find_moves(changes)
        for path, (old_mode, old, mode, new) in changes.items():
            parent = self.get_content(old_mode, old)
            content = self.get_content(mode, new)
            if parent is not None and content is not None:
                in_parents = (self._read_content(files.get(path)) for files in other_parents)
                parents = [parent, *filter(None, in_parents)]
                origin = None
                if path in origins:
                    origin = self.get_content(*changes[origins[path]][:2])
                replay = self.replay_path(path, origin or parent)
                elsewhere = self.look_elsewhere(path, None, PERSON)
                credited[path] = line_credit.credit_path(
                    replay, parents, content, origin, elsewhere
                )
        for path in credited.keys() & set(origins.values()):
            credited[path].leave_out()
        return credited

    def _find_moves(self, changes: Changes) -> dict[str, str]:
        """new path -> the path that its file was moved from."""
        removed = {path: old for path, (_, old, _, new) in changes.items() if old and not new}
        added = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
        if not removed or not added:
            return {}

        from gitcp.text import file_moves

        return file_moves.find_moves(removed, added, self._read_lines)

    def _read_lines(self, oid: str) -> Sequence[bytes]:
        content = self.get_content(_FILES[0], oid)
        if content is None:
            return ()
        return content.lines

    def read_ahead(self, changes: Changes) -> None:
        """Have the contents in memory that a replay of changed paths asks for one by one."""
        named: list[tuple[str, str | None]] = []
        for path, (old_mode, old, mode, new) in changes.items():
            named += [(old_mode, old), (mode, new)]
            for line in self.trace_content(path):
                named += filter(None, (line.before, line.after))
        oids = [oid for mode, oid in named if oid and mode in _FILES]
        self._objects.read_ahead(oids)

    def replay_path(self, path: str, parent: Version, reading: bool = False) -> Replay:
        """Replay a path's edits from the content before the first one, or from the parent's if that
        is missing.  The edit after a missing content has the author UNKNOWN.

        reading: whether to ask the history for the authors of lines that no edit wrote.  That costs
        as much as a blame; a commit asks only for a file that was moved or restored.
        """
        return self.replay_as(line_replay.Replay, path, parent, reading)

    def replay_as(
        self, kind: type[Kind], path: str, parent: Version, reading: bool = False
    ) -> Kind:
        """replay_path() into a replay of that class."""
        return self._replay_until(kind, path, parent, reading, _NOW)

    def replay_before(self, path: str, parent: Version, at: int) -> Replay:
        """Replay the edits of a path before a time in ns, of journal lines."""
        return self._replay_until(line_replay.Replay, path, parent, True, at)

    def _replay_until(
        self, kind: type[Kind], path: str, parent: Version, reading: bool, at: int
    ) -> Kind:
        earlier = [line for line in self.lines if line.at < at]
        chain = credit.trace_content(earlier, path)
        first: Version | None = parent
        origin = path
        if chain:
            first = self._read_content(chain[0].before)
            origin = chain[0].path
        start = first or parent
        committed = None
        before_first = None
        if reading or any(line.follows or line.how == "restored" for line in chain):
            committed = self._committed
        if committed:
            before_first = _ask_later(committed, origin, start.oid)
        lines = kind(start, before_first)
        oid = start.oid
        is_after_gap = first is None
        begun: list[tuple[int, int]] = []  # when each step was made, and how many lines were before
        for line in chain:
            begun.append((line.made, lines.count))
            before = self._read_content(line.before)
            after = self._read_content(line.after)
            lines.begin_step(UNKNOWN, line.at)
            if before is not None and before.oid != oid and not line.follows:
                # HEAD has moved: the missing lines are in a commit, or their edit is away.
                recorded: Mapping[int, Writer] = {}
                if committed:
                    recorded = committed(line.path, before.oid, "")
                lines.add_step(
                    before, UNKNOWN, line_replay.accepts_any_line, recorded, is_kept=True
                )
                oid = before.oid
            if after is not None:
                if is_after_gap:
                    writer = UNKNOWN
                else:
                    writer = line.author
                self._add_edit(lines, line, before, after, writer)
                if line.how == credit.STATED and before and lines.knows(before):
                    # Made elsewhere: what seemed to bring its lines here later has not made them.
                    later = (count for at, count in begun if at > begun[-1][0])
                    lines.claim_lines(before, writer, next(later, lines.count))
                oid = after.oid
            is_after_gap = after is None
        return lines

    def _add_edit(
        self,
        lines: Replay,
        line: Edit,
        before: Version | None,
        after: Version,
        writer: Writer,
    ) -> None:
        """Add an edit of writer to the replay of its path."""
        path = line.path
        recorded: Mapping[int, Writer] = {}
        elsewhere = None
        if not lines.knows(after):
            recorded = self._find_recorded(line, after)
            if line.is_kept:  # else it is large, and seen long after it was written
                elsewhere = self.look_elsewhere(path, line.at, writer)
        old_oid = ""
        if before:
            old_oid = before.oid
        is_kept = (path, old_oid) in self._settled or line.is_stashed
        lines.begin_step(line.cause, line.at)
        regains = choose_regains(line.how)
        lines.add_step(after, writer, regains, recorded, is_kept, elsewhere)

    def look_elsewhere(self, path: str, at: int | None, writer: Writer) -> Elsewhere | None:
        """Where lines may come from that writer gave a path; at: of the edit's line, None for a
        change after the last edit.  None if no edit names another path."""
        if self.by_path.keys() <= {path}:
            return None
        return Elsewhere(self, path, at, writer)

    def _find_recorded(self, line: Edit, content: Version) -> Mapping[int, Writer]:
        """The recorded authors of lines that an edit copied from other files, or restored."""
        if line.sources:
            return self._find_copied(line.sources, content)
        if self._committed and line.how == "restored":
            return self._committed(line.path, content.oid, "")
        return {}

    def _find_copied(self, sources: Sequence[Sequence[str]], content: Version) -> dict[int, Writer]:
        """The authors, by index, of lines that came from sources; UNKNOWN for all lines if a
        source is missing."""
        from gitcp.text.carry import origins

        authors: dict[int, Writer] = {}
        for commit, path, oid in sources:
            source = self.get_content("100644", oid)
            if source is None:
                return dict.fromkeys(range(len(content.lines)), UNKNOWN)
            committed: Mapping[int, Writer] = {}
            if self._committed and commit:
                committed = self._committed(path, oid, commit)
            carried = origins.carry(self.read_text(source), self.read_text(content))
            for line, origin in enumerate(carried.origins):
                if origin >= 0:
                    authors.setdefault(line, committed.get(origin, UNKNOWN))
        return authors


def _ask_later(committed: Committed, path: str, oid: str) -> Callable[[], Mapping[int, Writer]]:
    def ask() -> Mapping[int, Writer]:
        return committed(path, oid, "")

    return ask


# Lines that an edit may have brought from other paths, as the journal tells of them.  What a path
# had just before an edit of another one may have been cut, copied or split by it.  A path that no
# edit names is not searched.


class _Other:
    """A content of another path that lines may come from.  at: it is that before the edits from
    then on, in ns of journal lines."""

    __slots__ = ("at", "content", "path", "replay")

    def __init__(self, path: str, content: Version, at: int) -> None:
        self.path = path
        self.content = content
        self.at = at
        self.replay: Replay | None = None


class Elsewhere:
    """What other paths had when an edit of a path was made.  A path that was changed in the same
    look counts as it was before."""

    def __init__(self, edits: Edits, path: str, at: int | None, writer: Writer) -> None:
        """at: of the edit's line; None for a change after the last edit.  writer: whose a line is
        if its author at the other path cannot be asked for."""
        self._edits = edits
        self._path = path
        self._at = at
        self._writer = writer
        self._others: list[_Other] = []

    def list_sources(self, keys: Sequence[bytes]) -> list[Source]:
        """The contents that have some of the lines with these keys."""
        from gitcp.text.carry.moves import Source
        from gitcp.text.carry.text import is_telling, join_hard

        wanted = {key for key in join_hard(keys).split(b"\n") if is_telling(key)}
        sources = []
        if wanted:
            for path in self._list_nearest():
                other = self._find_other(path, wanted)
                if other:
                    text = self._edits.read_text(other.content)
                    self._others.append(other)
                    sources.append(Source(text, self._find_gone(path, text)))
        return sources

    def find_author(self, place: Place) -> Writer:
        """Who wrote a line of one of list_sources()."""
        other = self._others[place.source]
        if other.replay is None:
            other.replay = self._edits.replay_before(other.path, other.content, other.at)
        numbers = other.replay.find_numbers(other.content, UNKNOWN)
        author = other.replay.get_author(numbers[place.line])
        if author == UNKNOWN and not self._edits.reads_history:
            return self._writer
        return author

    def has_others(self, session_id: str) -> bool:
        """Whether another session has an edit at a path that lines may come from."""
        for path in self._list_nearest():
            for line in self._edits.by_path[path]:
                if line.author[0] not in ("", session_id):
                    return True
        return False

    def get_path(self, place: Place) -> str:
        """The path of one of list_sources()."""
        return self._others[place.source].path

    def _list_nearest(self) -> list[str]:
        """The other paths with edits, those whose edits stand nearest to this one's; none if the
        look saw many changes at once."""
        from bisect import bisect_left, bisect_right

        lines = self._edits.lines
        at = self._at
        if at is None:
            at = _NOW
        if self._edits.is_of_many(at):
            return []
        start = bisect_left(lines, at, key=lambda line: line.at)
        end = bisect_right(lines, at, key=lambda line: line.at)
        nearest: dict[str, None] = {}
        for line in lines[start:end]:
            nearest[line.path] = None
        while len(nearest) < _MOST and (start > 0 or end < len(lines)):
            if start > 0:
                start -= 1
                nearest[lines[start].path] = None
            if end < len(lines):
                nearest[lines[end].path] = None
                end += 1
        nearest.pop(self._path, None)
        return [*nearest]

    def _find_other(self, path: str, wanted: Set[bytes]) -> _Other | None:
        """What a path had just before the edit; after the last edit, also what it had before that.
        None if that has none of the wanted lines."""
        lines = self._edits.by_path[path]
        if self._at is None:
            last = lines[-1]
            found = self._open(path, last.after, _NOW, wanted)
            return found or self._open(path, last.before, last.at, wanted)
        earlier = [line for line in lines if line.at < self._at]
        if earlier:
            entry = earlier[-1].after
        else:
            entry = lines[0].before
        return self._open(path, entry, self._at, wanted)

    def _open(
        self, path: str, entry: record_types.Version, at: int, wanted: Set[bytes]
    ) -> _Other | None:
        content = None
        if entry:
            content = self._edits.get_content(*entry)
        if content is None or not content.lines or content.lines[0].startswith(b"\0"):
            return None
        if wanted.isdisjoint(self._edits.read_text(content).places):
            return None
        return _Other(path, content, at)

    def _find_gone(self, path: str, text: Text) -> set[int]:
        """The lines that the path has not got any more."""
        entry = self._edits.by_path[path][-1].after
        content = self._edits.get_content(*entry or ("", ""))
        if content is None:
            return set()  # it is not here
        removed, _ = pairing.find_changed_lines(text.keys, self._edits.read_text(content).keys)
        return set(removed)


def choose_regains(how: str) -> Regains:
    """The test of a line that an edit moves or brings back: a restore may do so with any line, new
    work only with a significant one."""
    if how == "restored":
        return line_replay.accepts_any_line
    return line_evidence.is_significant
