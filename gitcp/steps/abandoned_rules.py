"""Which turns were given up: what they changed is in no commit, no stash, not in the index and not
in the worktree (doc/behaviour.md "What was given up")."""

from __future__ import annotations

import re
import shlex
from functools import cached_property

from gitcp.record.journal.credit import RESTORED
from gitcp.text import ids, json, line_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypedDict

    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.line_replay import Replay
    from gitcp.text.line_replay import Version as Content
    from gitcp.text.record_types import Record, Version

    Key = tuple[str, str]  # session, turn

    class GivenUp(TypedDict):
        """What a turn changed at a path and nothing has any more.  before, after: the entries
        around it.  added, removed: numbers of lines.  wrote: its significant lines, without the
        space around them.  how: 'rewound', 'discarded', 'stashed' or 'overwritten'.  by: the
        session and turn that ended it, '' for the person.  at: the time of the turn's last edit
        of the path, ns."""

        path: str
        before: Version
        after: Version
        added: int
        removed: int
        wrote: set[bytes]
        how: str
        by: Key
        at: int

    # what turns gave up at a path; the turns with work that is left, each with a path of its edits
    Found = tuple[list[tuple[Key, GivenUp]], set[tuple[Key, str]]]


class History:
    """What a path held at each of its edits."""

    def __init__(
        self,
        chain: Sequence[Edit],
        replay: Callable[[], Replay],
        read: Callable[[Version], Content | None],
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
    def _written(self) -> dict[Key, set[int]]:
        """turn -> the numbers of the lines that it wrote."""
        written: dict[Key, set[int]] = {}
        for number in self._replay.authors:
            session_id, turn, _ = self._replay.get_author(number)
            written.setdefault((session_id, turn), set()).add(number)
        return written

    def list_given_up(self, kept: Sequence[Version]) -> Found:
        """Divide the turns that changed the path.  kept: what the worktree, the index, the commits
        and the stash have there; first what most likely has their work."""
        turns: dict[Key, list[Edit]] = {}
        for line in self._chain:
            session_id, turn, _ = line.author
            if session_id and turn:
                turns.setdefault((session_id, turn), []).append(line)
        # What a turn itself took back was not given up by anybody.
        turns = {k: lines for k, lines in turns.items() if lines[0].before != lines[-1].after}
        left = dict(turns)
        entries = set(kept) - {None}
        for key, lines in turns.items():
            if any(line.after in entries for line in lines):
                del left[key]
        for entry in kept:
            if not left:
                break
            numbers = set(self._list_numbers(entry))
            for key, lines in [*left.items()]:
                if self._has_work(key, lines, entry, numbers):
                    del left[key]
        others = {(key, line.path) for key in turns.keys() - left.keys() for line in turns[key]}
        return [(key, self._describe(key, lines)) for key, lines in left.items()], others

    def _list_numbers(self, entry: Version) -> Sequence[int]:
        """The lines of an entry; one in another form counts as the line that it was."""
        content = self._read(entry) if entry else None
        if not content:
            return ()
        numbers = self._replay.find_numbers(content, ids.UNKNOWN)
        return [self._replay.get_root(number) for number in numbers]

    def _list_texts(self, entry: Version) -> set[bytes]:
        content = self._read(entry) if entry else None
        return set(content.lines) if content else set()

    def _has_work(self, key: Key, lines: Sequence[Edit], entry: Version, numbers: set[int]) -> bool:
        """Whether an entry, whose lines have these numbers, has something of a turn's change: a
        line that it wrote; without one, is absent too, lacks a line that it removed, or has the
        mode."""
        written = self._written.get(key)
        if written:
            return not written.isdisjoint(numbers)
        before = lines[0].before
        after = lines[-1].after
        if after is None:
            return entry is None
        removed = self._list_texts(before) - self._list_texts(after)
        if removed:
            return not removed <= self._list_texts(entry)
        modes = [version[0] if version else "" for version in (before, after, entry)]
        return modes[0] != modes[1] == modes[2]

    def _describe(self, key: Key, lines: Sequence[Edit]) -> GivenUp:
        before = lines[0].before
        after = lines[-1].after
        old = {*self._list_numbers(before)}
        new = {*self._list_numbers(after)}
        end = self._find_end(key, before, lines[-1])
        return {
            "path": lines[-1].path,
            "before": before,
            "after": after,
            "added": len(new - old),
            "removed": len(old - new),
            "wrote": self._list_written(key, lines),
            "how": choose_outcome(end),
            "by": end.cause[:2] if end else ("", ""),
            "at": int(lines[-1].at),
        }

    def _list_written(self, key: Key, lines: Sequence[Edit]) -> set[bytes]:
        own = self._written.get(key, set())
        entry = lines[-1].after
        content = self._read(entry) if entry else None
        texts = zip(content.lines if content else (), self._list_numbers(entry), strict=False)
        return {
            text.strip() for text, n in texts if n in own and line_evidence.is_significant(text)
        }

    def _find_end(self, key: Key, before: Version, last: Edit) -> Edit | None:
        """The first edit after a turn's last one that leaves nothing of its change; None if no
        edit says so."""
        written = self._written.get(key, set())
        start = next(n for n, line in enumerate(self._chain) if line is last)
        for line in self._chain[start + 1 :]:
            entry = line.after
            if entry == before or (written and written.isdisjoint(self._list_numbers(entry))):
                return line
        return None


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


def group_edits(edits: Iterable[Edit]) -> list[tuple[set[str], list[Edit]]]:
    """(paths, their edits) of the files that were moved or copied to each other, by the first
    edit."""
    root: dict[str, str] = {}

    def find(path: str) -> str:
        while root.setdefault(path, path) != path:
            path = root[path]
        return path

    edits = list(edits)
    for line in edits:
        if line.follows:
            root[find(line.path)] = find(line.follows)
    groups: dict[str, tuple[set[str], list[Edit]]] = {}
    for line in edits:
        paths, own = groups.setdefault(find(line.path), (set(), []))
        paths.add(line.path)
        own.append(line)
    return [*groups.values()]


def unite(found: Iterable[Found]) -> Iterator[tuple[Key, list[GivenUp]]]:
    """(the turn, what was given up of it), the newest first, of the results of each path.  The work
    on a file that was moved counts where the file is now."""
    turns: dict[Key, list[GivenUp]] = {}
    found = list(found)
    elsewhere = set[tuple["Key", str]]().union(*(others for _, others in found))
    for given_up, _ in found:
        for key, part in given_up:
            if (key, part["path"]) not in elsewhere:
                turns.setdefault(key, []).append(part)
    yield from sorted(turns.items(), key=lambda item: -max(part["at"] for part in item[1]))


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
    printable = filter(str.isprintable, paths)
    return [p for p in printable if any(p == word or p.endswith(f"/{word}") for word in named)]


def format_hint(records: Sequence[Record], paths: Sequence[str]) -> str:
    """A line for an agent about what was given up in paths; '' without records."""
    if not records:
        return ""
    newest = records[0]
    more = len(records) - 1
    asked = " ".join(newest["prompt"].split())[:_QUOTED]
    newest_turn = f"the last for the prompt {json.dumps(asked)}, {newest['how']}"
    files = ", ".join(f"'{path}'" for path in paths)
    times = f"{more + 1} turns" if more else "1 turn"
    command = f"gitcp log --abandoned -p -- {' '.join(map(shlex.quote, paths))}"
    return (
        f"gitcp: work on {files} was given up before: {times}, {newest_turn}; '{command}' shows it"
    )
