"""Lines carried through what happened to a path: who wrote each, who took each that is gone.

A line keeps its author while a diff leaves it alone, or changes white space in it only; content
that was there before brings its authors back.  Nothing here guesses: what no step explains gets
the author the caller names.
"""

from __future__ import annotations

from gitcp.core.credit import line_diff
from gitcp.core.credit.entries import PERSON, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.record_types import Author

    Regains = Callable[[bytes], bool]

__all__ = ["PERSON", "UNKNOWN", "Replay", "Version", "every", "split", "whole", "without_space"]


class Version:
    """A content: its blob ('' for no file) and its lines, as split() gives them."""

    __slots__ = ("lines", "oid")

    def __init__(self, oid: str, lines: Sequence[bytes]) -> None:
        self.oid, self.lines = oid, lines


LARGEST = 2 << 20  # bytes up to which a text has lines
_SNIFFED = 8000  # where git looks for a NUL to call content binary


def every(line: bytes) -> bool:
    """Each line, whatever it says."""
    return True


def whole(data: bytes) -> bool:
    """Whether a content has one author, not one a line: binary as git tells it, or too large."""
    return len(data) > LARGEST or b"\0" in data[:_SNIFFED]


def split(oid: str, data: bytes | None) -> list[bytes]:
    """The lines of a content; of one that is whole() a single line, which is its name."""
    if not data:
        return []
    return [b"\0" + oid.encode()] if whole(data) else line_diff.lines(data)


def without_space(line: bytes) -> bytes:
    """What of a line counts when its author is told."""
    return b"".join(line.split())


class Replay:
    """The lines of one path through its steps; every line has a number for good."""

    def __init__(self, first: Version, authors: Mapping[int, Author] | None = None) -> None:
        """authors: by index, of lines of the first content that are known from before."""
        self.authors: dict[int, Author] = dict(authors or {})
        self.takers: dict[int, Author] = {}
        self._count = len(first.lines)
        self._stashed: set[int] = set()
        self.lines: Sequence[bytes] = first.lines
        self.numbers = list(range(self._count))
        self._seen: dict[str, list[int]] = {first.oid: self.numbers}
        self._texts: dict[bytes, int] = dict(zip(first.lines, self.numbers, strict=True))
        self.first = first

    def knows(self, version: Version) -> bool:
        """Whether a content is one of the steps."""
        return version.oid in self._seen

    def step(
        self,
        now: Version,
        who: Author,
        regains: Regains | None = None,
        authors: Mapping[int, Author] | None = None,
        stashed: bool = False,
    ) -> None:
        """The path has another content, by who; regains: which of the lines that are known from
        before get their authors back, all where it came from elsewhere in the repository.
        authors: by index, of those of its lines whose author is known otherwise.  stashed: `git
        stash` keeps the lines that go."""
        before = self.numbers
        self.numbers = self._numbered(now, who, regains, authors or {})
        self._stashed |= {*before} if stashed else set()
        self.lines = now.lines
        self._seen[now.oid] = self.numbers
        for number in set(before).difference(self.numbers):
            self.takers[number] = who
        for number in self.numbers:
            self.takers.pop(number, None)

    def _numbered(
        self, now: Version, who: Author, regains: Regains | None, authors: Mapping[int, Author]
    ) -> list[int]:
        if now.oid in self._seen:
            return self._seen[now.oid]
        paired = line_diff.pairs(_keys(self.lines), _keys(now.lines))
        known = {j: self.numbers[i] for i, j in paired}
        if regains:
            self._regain(now.lines, known, regains)
        for j, line in enumerate(now.lines):
            if j not in known:
                known[j] = self._new(authors.get(j, who))
            self._texts[line] = known[j]
        return [known[j] for j in range(len(now.lines))]

    def _regain(self, now: Sequence[bytes], known: dict[int, int], regains: Regains) -> None:
        used = set(known.values())
        for j, line in enumerate(now):
            number = self._texts.get(line)
            if j not in known and number is not None and number not in used and regains(line):
                known[j] = number if self._may_return(number, regains) else self._new(UNKNOWN)
                used.add(number)

    def _may_return(self, number: int, regains: Regains) -> bool:
        """Whether it is the very line that comes back: one that went and that nothing keeps may
        have been typed once more."""
        return regains is every or number not in self.takers or number in self._stashed

    def _new(self, who: Author) -> int:
        self.authors[self._count] = who
        self._count += 1
        return self._count - 1

    def at(self, version: Version, rest: Author) -> list[int]:
        """The numbers of the lines of a content, be it one of the steps or a part of them
        (staged by hunks); what is in none of them is rest's."""
        if version.oid in self._seen:
            return self._seen[version.oid]
        return self._numbered(version, rest, every, {})

    def author(self, number: int) -> Author:
        """Who wrote a line; UNKNOWN for one that was there before the first step."""
        return self.authors.get(number, UNKNOWN)


def _keys(lines: Sequence[bytes]) -> list[bytes]:
    return [without_space(line) for line in lines]
