"""Which turns were given up: what they changed is in no commit, no stash, not in the index and not
in the worktree (doc/behaviour.md "What was given up")."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property

from gitcp.record.journal.credit import RESTORED
from gitcp.text import ids, json, line_evidence, line_replay
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.line_replay import Replay
    from gitcp.text.record_types import Record, Version


@dataclass(slots=True, frozen=True)
class Turn:
    """A turn of a session; both are '' for the person."""

    session_id: str = ""
    turn: str = ""


@dataclass(slots=True)
class GivenUp:
    """What a turn changed at a path and nothing has any more.

    before, after: the entries around it.  added, removed: numbers of lines.  wrote: its significant
    lines, without the space around them.  how: 'rewound', 'discarded', 'stashed' or 'overwritten'.
    by: the turn that ended it.  at: the time of the turn's last edit of the path, ns."""

    turn: Turn
    path: str
    before: Version
    after: Version
    added: int
    removed: int
    wrote: set[bytes]
    how: str
    by: Turn
    at: int


@dataclass(slots=True, frozen=True)
class WorkOf:
    """A path with work of a turn."""

    turn: Turn
    path: str


@dataclass(slots=True)
class FoundWork:
    """What turns gave up at a path, and where there is work of other turns that is left."""

    given_up: list[GivenUp]
    left: set[WorkOf]


@dataclass(slots=True)
class Group:
    """Files that were moved or copied to each other, and their edits."""

    paths: set[str]
    edits: list[Edit]


class EditHistory:
    """What a path held at each of its edits."""

    def __init__(
        self,
        chain: Sequence[Edit],
        replay: Callable[[], Replay],
        read: Callable[[Version], line_replay.Version | None],
    ) -> None:
        """chain: credit.trace_content() of the path; replay: makes its replay, if one is
        needed; read: the content of an entry, None if it is missing."""
        self._chain = chain
        self._make_replay = replay
        self._read = read

    @cached_property
    def _replay(self) -> Replay:
        return self._make_replay()

    @cached_property
    def _written(self) -> dict[Turn, set[int]]:
        """turn -> the numbers of the lines that it wrote."""
        written: dict[Turn, set[int]] = {}
        for number in self._replay.authors:
            session_id, turn, _ = self._replay.get_author(number)
            written.setdefault(Turn(session_id, turn), set()).add(number)
        return written

    def list_given_up(self, kept: Sequence[Version]) -> FoundWork:
        """Divide the turns that changed the path.  kept: what the worktree, the index, the commits
        and the stash have there; first what most likely has their work."""
        turns = self._map_turns()
        given_up = dict(turns)
        entries = set(kept) - {None}
        for turn, lines in turns.items():
            if any(line.after in entries for line in lines):
                del given_up[turn]
        for entry in kept:
            if not given_up:
                break
            numbers = set(self._list_numbers(entry))
            for turn, lines in [*given_up.items()]:
                if self._has_work(turn, lines, entry, numbers):
                    del given_up[turn]
        left: set[WorkOf] = set()
        for turn in turns.keys() - given_up.keys():
            left.update(WorkOf(turn, line.path) for line in turns[turn])
        parts = [self._describe(turn, lines) for turn, lines in given_up.items()]
        return FoundWork(parts, left)

    def _map_turns(self) -> dict[Turn, list[Edit]]:
        """The edits of each turn that changed the path; what a turn itself took back was not given
        up by anybody."""
        turns: dict[Turn, list[Edit]] = {}
        for line in self._chain:
            session_id, turn, _ = line.author
            if session_id and turn:
                turns.setdefault(Turn(session_id, turn), []).append(line)
        return {turn: lines for turn, lines in turns.items() if lines[0].before != lines[-1].after}

    def _read_content(self, entry: Version) -> line_replay.Version | None:
        if entry is None:
            return None
        return self._read(entry)

    def _list_numbers(self, entry: Version) -> Sequence[int]:
        """The lines of an entry; one in another form counts as the line that it was."""
        content = self._read_content(entry)
        if not content:
            return ()
        numbers = self._replay.find_numbers(content, ids.UNKNOWN)
        return [self._replay.get_root(number) for number in numbers]

    def _list_texts(self, entry: Version) -> set[bytes]:
        content = self._read_content(entry)
        if not content:
            return set()
        return set(content.lines)

    def _has_work(
        self, turn: Turn, lines: Sequence[Edit], entry: Version, numbers: set[int]
    ) -> bool:
        """Whether an entry, whose lines have these numbers, has something of a turn's change: a
        line that it wrote; without one, is absent too, lacks a line that it removed, or has the
        mode."""
        written = self._written.get(turn)
        if written:
            return not written.isdisjoint(numbers)
        before = lines[0].before
        after = lines[-1].after
        if after is None:
            return entry is None
        removed = self._list_texts(before) - self._list_texts(after)
        if removed:
            return not removed <= self._list_texts(entry)
        mode = after[0]
        return _get_mode(before) != mode and _get_mode(entry) == mode

    def _describe(self, turn: Turn, lines: Sequence[Edit]) -> GivenUp:
        last = lines[-1]
        before = lines[0].before
        after = last.after
        old = {*self._list_numbers(before)}
        new = {*self._list_numbers(after)}
        end = self._find_end(turn, before, last)
        by = Turn()
        if end:
            session_id, ending, _ = end.cause
            by = Turn(session_id, ending)
        return GivenUp(
            turn,
            last.path,
            before,
            after,
            len(new - old),
            len(old - new),
            self._list_written(turn, after),
            choose_outcome(end),
            by,
            last.at,
        )

    def _list_written(self, turn: Turn, entry: Version) -> set[bytes]:
        """The significant lines of a turn in a content."""
        content = self._read_content(entry)
        if not content:
            return set()
        own = self._written.get(turn, set())
        found: set[bytes] = set()
        for text, number in zip(content.lines, self._list_numbers(entry), strict=False):
            if number in own and line_evidence.is_significant(text):
                found.add(text.strip())
        return found

    def _find_end(self, turn: Turn, before: Version, last: Edit) -> Edit | None:
        """The first edit after a turn's last one that leaves nothing of its change; None if no
        edit says so."""
        written = self._written.get(turn, set())
        is_later = False
        for line in self._chain:
            if is_later:
                entry = line.after
                if entry == before:
                    return line
                if written and written.isdisjoint(self._list_numbers(entry)):
                    return line
            is_later = is_later or line is last
        return None


def _get_mode(entry: Version) -> str:
    if entry is None:
        return ""
    return entry[0]


def was_moved(wrote: set[bytes], before: set[bytes], after: set[bytes]) -> bool:
    """Whether a file got at least half of the lines that a turn wrote in another one.  before,
    after: the lines of the file, without the space around them."""
    return bool(wrote) and 2 * len((wrote & after) - before) >= len(wrote)


def choose_outcome(end: Edit | None) -> str:
    """How a turn's change ended, by the edit after which nothing was left of it."""
    if end is None:
        return "discarded"
    if end.step:
        return "rewound"
    if end.is_stashed:
        return "stashed"
    if end.how == RESTORED:
        return "discarded"
    return "overwritten"


def group_edits(edits: Iterable[Edit]) -> list[Group]:
    """The files that were moved or copied to each other with their edits, by the first edit."""
    root: dict[str, str] = {}

    def find(path: str) -> str:
        while root.setdefault(path, path) != path:
            path = root[path]
        return path

    edits = list(edits)
    for line in edits:
        if line.follows:
            root[find(line.path)] = find(line.follows)
    groups: dict[str, Group] = {}
    for line in edits:
        group = groups.setdefault(find(line.path), Group(set(), []))
        group.paths.add(line.path)
        group.edits.append(line)
    return [*groups.values()]


def unite(found: Iterable[FoundWork]) -> list[list[GivenUp]]:
    """What was given up of each turn, the newest turn first, of the results of each path.  The work
    on a file that was moved counts where the file is now."""
    results = list(found)
    left: set[WorkOf] = set()
    for one in results:
        left |= one.left
    turns: dict[Turn, list[GivenUp]] = {}
    for one in results:
        for part in one.given_up:
            if WorkOf(part.turn, part.path) not in left:
                turns.setdefault(part.turn, []).append(part)
    return sorted(turns.values(), key=lambda parts: -max(part.at for part in parts))


def has_text(record: Record, text: str) -> bool:
    """Whether a prompt of a record "abandoned" has a text, in either case."""
    return text.casefold() in f"{record['prompt']}\n{record['next_prompt']}".casefold()


_WORD = re.compile(r"[^\s'\"`()<>\[\]{},;:!?]+")
_QUOTED = 100  # characters of a prompt


def find_named(prompt: str, paths: Iterable[str]) -> list[str]:
    """The printable paths that a prompt names, whole or by their last parts; one without a `/` or a
    `.` is a word like others."""
    words = {word.lstrip("@").rstrip(".") for word in _WORD.findall(prompt)}
    named = [word.removeprefix("./") for word in words if "/" in word or "." in word]
    return [path for path in paths if path.isprintable() and _is_named(path, named)]


def _is_named(path: str, names: Iterable[str]) -> bool:
    """Whether one of some names is a path or its last parts."""
    return any(path == name or path.endswith(f"/{name}") for name in names)


def format_hint(records: Sequence[Record], paths: Sequence[str]) -> str:
    """A line for an agent about what was given up in paths; '' without records."""
    if not records:
        return ""
    newest = records[0]
    asked = " ".join(newest["prompt"].split())[:_QUOTED]
    newest_turn = f"the last for the prompt {json.dumps(asked)}, {newest['how']}"
    files = ", ".join(f"'{path}'" for path in paths)
    times = count_noun(len(records), "turn")
    command = f"gitcp log --abandoned -p -- {' '.join(map(shlex.quote, paths))}"
    return (
        f"gitcp: work on {files} was given up before: {times}, {newest_turn}; '{command}' shows it"
    )
