"""The recorded edits of one path, and who made a change of it by them."""

from __future__ import annotations

from gitcp.git.objects import find_file
from gitcp.steps.whose import lineage, parts
from gitcp.text import line_replay, value_class
from gitcp.text.carry.moves import find_moved
from gitcp.text.carry.text import Text
from gitcp.text.ids import PERSON, REGULAR, UNKNOWN
from gitcp.text.line_evidence import has_no_lines, split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.objects import Lookup, Objects
    from gitcp.lines.edit_lines import Edits, Elsewhere
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.steps.whose.parts import Operation
    from gitcp.text.record_types import Entry, Version, Writer


@value_class
class PathChange:
    """The entries of a path before and after."""

    old: Version
    new: Version


@value_class
class PathTexts:
    """The contents of a path before and after."""

    old: bytes
    new: bytes


@value_class
class Move:
    """A file that was moved or copied to a path.

    number: that of the edit, among those of the path.  entry: the file at its former path, in the
    tree that is compared.  mover: who did it."""

    number: int
    entry: Entry
    mover: Writer


class PathHistory:
    """The edits that led to the content of a path, also those at the paths that it was moved from.

    chain: these, oldest first."""

    def __init__(self, edits: Edits, path: str) -> None:
        self.path = path
        self._edits = edits
        self.chain = edits.trace_content(path)

    def list_run(self, change: PathChange) -> list[Edit] | None:
        """The edits that made a change, those that were not taken back and restored if they
        suffice; None if not all are known, or one took the content from another path."""
        run = _list_run(lineage.walk_back(self.chain), change)
        if run is None:
            run = _list_run(reversed(self.chain), change)
        return run

    def list_run_writers(self, change: PathChange) -> set[Writer] | None:
        """Who made a change, by list_run()."""
        run = self.list_run(change)
        if run is None:
            return None
        return {get_writer(line) for line in run}

    def list_writers(self) -> set[Writer]:
        """Who made any of the edits."""
        return {get_writer(line) for line in self.chain}

    def may_be_back(self, writers: set[Writer]) -> bool:
        """Whether what seems to be the person's work may have lines of others that a stash had."""
        return writers == {PERSON} and any(line.is_stashed for line in self.chain)

    def list_brought(self, change: PathChange, base: Lookup) -> set[Writer]:
        """Who wrote lines that a change got from other paths, and that a tree has not there."""
        brought: set[Writer] = set()
        for line in self.list_run(change) or self.chain:
            elsewhere = self._edits.look_elsewhere(line.path, line.at, line.author)
            if elsewhere and elsewhere.has_others(line.author[0]):
                brought |= self._list_brought_by(line, elsewhere, change, base)
        return brought

    def _list_brought_by(
        self, line: Edit, elsewhere: Elsewhere, change: PathChange, base: Lookup
    ) -> set[Writer]:
        """list_brought() by one edit."""
        text = self._read(line.after)
        content = self._read(change.new)
        wanted = {*content.keys}
        for entry in (change.old, line.before):
            had = self._read(entry)
            wanted.difference_update(had.keys)
        added = [n for n, key in enumerate(text.keys) if key in wanted]
        keys = [text.keys[n] for n in added]
        sources = elsewhere.list_sources(keys)
        brought: set[Writer] = set()
        moved = find_moved(text, added, sources)
        for n, place in moved.items():
            source = elsewhere.get_path(place)
            committed = self._read(find_file(base, source))
            if text.keys[n] not in committed.keys:
                brought.add(elsewhere.find_author(place))
        return brought

    def _read(self, entry: Version) -> Text:
        """A content as carry() compares it; without lines if there is none, or it is missing."""
        content = None
        if entry:
            content = self._edits.get_content(*entry)
        if content is None:
            return Text([])
        return self._edits.read_text(content)

    def find_last_writer(self) -> Writer:
        """Who made the last edit; the person without one."""
        if self.chain:
            return get_writer(self.chain[-1])
        return PERSON

    def find_creator(self) -> Writer:
        """Who made the file."""
        for line in lineage.walk_back(self.chain):
            if line.before is None:
                return get_writer(line)
        return PERSON

    def find_end_writer(self, objects: Objects, has_newline: bool) -> Writer:
        """Who gave the text its end with a newline, or without one."""
        for line in lineage.walk_back(self.chain):
            before = read_text(objects, line.before)
            if before is not None and before.endswith(b"\n") != has_newline:
                return get_writer(line)
        return PERSON

    def find_move(self, base: Lookup) -> Move | None:
        """The move or copy by which the path got a file that a tree has at another path."""
        for number in reversed(range(len(self.chain))):
            line = self.chain[number]
            if line.follows:
                entry = find_file(base, line.follows)
                if entry:
                    return Move(number, entry, get_writer(line))
        return None

    def list_since_move(self, move: Move) -> list[Edit]:
        """The edits since a moved file was as the tree has it."""
        for number in reversed(range(move.number)):
            if self.chain[number].after == move.entry:
                return self.chain[number + 1 :]
        return self.chain

    def list_operations(
        self,
        change: PathChange,
        texts: PathTexts,
        creator: Writer,
        parent: line_replay.Version | None = None,
    ) -> list[Operation]:
        """The operations that make one text of the path from another, by their authors.

        texts: those of the change.  creator: who wrote lines that no edit did.  parent: the content
        before all edits, None for the first text."""
        before = _make_version(change.old, texts.old)
        after = _make_version(change.new, texts.new)
        weave = self._edits.replay_as(parts.Weave, self.path, parent or before)
        if not weave.knows(after):
            weave.add_step(after, PERSON)
        return parts.list_operations(weave, before, after, creator)


def _make_version(entry: Version, text: bytes) -> line_replay.Version:
    oid = ""
    if entry:
        oid = entry[1]
    return line_replay.Version(oid, split_lines(text))


def _list_run(edits: Iterable[Edit], change: PathChange) -> list[Edit] | None:
    """PathHistory.list_run() among edits, the newest first, each of which led to the one before."""
    found: list[Edit] = []
    wanted = change.new
    for line in edits:
        if line.after != wanted or line.follows:
            return None
        found.append(line)
        wanted = line.before
        if wanted == change.old:
            return found[::-1]
    return None


def get_writer(line: Edit) -> Writer:
    """The author of an edit, or the call that made it if that is not known."""
    who = line.author
    if who == UNKNOWN:
        return line.cause
    return who


def get_last_mode_edit(chain: Sequence[Edit]) -> Edit | None:
    """The last of some edits that changed the mode of a file; None without one."""
    for line in reversed(chain):
        before = line.before
        after = line.after
        if before and after and before[0] != after[0]:
            return line
    return None


def read_text(objects: Objects, version: Version) -> bytes | None:
    """The text of a file, b"" for no file; None for what has no lines."""
    if version is None:
        return b""
    if version[0] not in REGULAR:
        return None
    data = objects.read_blob(version[1])
    if data is None or has_no_lines(data):
        return None
    return data
