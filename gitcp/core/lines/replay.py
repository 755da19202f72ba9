"""Lines carried through what happened to a path: who wrote each, who took each that is gone.

A line keeps its author while a diff leaves it alone, or changes white space in it only; content
that was there before brings its authors back.  Nothing here guesses: what no step explains gets
the author the caller names.
"""

from __future__ import annotations

from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.core.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.record_types import Writer

    Regains = Callable[[bytes], bool]

__all__ = ["PERSON", "UNKNOWN", "Replay", "Version", "every", "split", "without_space"]


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


def has_no_lines(data: bytes) -> bool:
    """Whether a content has one author, not one a line: binary as git tells it, or too large."""
    return len(data) > LARGEST or b"\0" in data[:_SNIFFED]


def split(oid: str, data: bytes | None) -> list[bytes]:
    """The lines of a content; of one that has_no_lines() a single line, which is its name."""
    if not data:
        return []
    return [b"\0" + oid.encode()] if has_no_lines(data) else line_diff.lines(data)


def without_space(line: bytes) -> bytes:
    """What of a line counts when its author is told."""
    return b"".join(line.split())


class Replay:
    """The lines of one path through its steps; every line has a number for good."""

    def __init__(
        self, first: Version, before: Callable[[], Mapping[int, Writer]] | None = None
    ) -> None:
        """before: the authors, by index, of lines of the first content; asked when one matters."""
        self.authors: dict[int, Writer] = {}
        self.takers: dict[int, Writer] = {}
        self._took: dict[int, Writer] = {}  # of lines that may stand again
        self._changers: dict[int, Writer] = {}  # of lines that stand, moved or indented
        self._before = before
        self._count = len(first.lines)
        self._kept: set[int] = set()
        self.lines: Sequence[bytes] = first.lines
        self.numbers = list(range(self._count))
        self._seen: dict[str, list[int]] = {first.oid: self.numbers}
        self._texts: dict[bytes, int] = dict(zip(_keys(first.lines), self.numbers, strict=True))
        self.first = first

    def knows(self, version: Version) -> bool:
        """Whether a content is one of the steps."""
        return version.oid in self._seen

    def step(
        self,
        now: Version,
        who: Writer,
        regains: Regains | None = None,
        authors: Mapping[int, Writer] | None = None,
        kept: bool = False,
    ) -> None:
        """The path has another content, by who; regains: which of the lines that are known from
        before keep their authors though they moved or come back, all of them where it came from
        elsewhere in the repository.  authors: by index, of those of its lines whose author is
        known otherwise.  kept: a commit or `git stash` has the lines that go."""
        before, texts = self.numbers, dict(zip(self.numbers, self.lines, strict=True))
        returns = who == UNKNOWN and self.knows(now)  # it lacks what it lacked, by the same hand
        self.numbers = self._numbered(now, who, regains, authors or {})
        self._kept |= {*before} if kept else set()
        self.lines = now.lines
        self._seen[now.oid] = self.numbers
        for number in set(before).difference(self.numbers):
            taker = self._took.get(number, who) if returns else who
            self.takers[number] = self._took[number] = taker
        for number, line in zip(self.numbers, now.lines, strict=True):
            self.takers.pop(number, None)
            if texts.get(number, line) != line:
                self._changers[number] = who

    def _numbered(
        self, now: Version, who: Writer, regains: Regains | None, authors: Mapping[int, Writer]
    ) -> list[int]:
        if now.oid in self._seen:
            return self._seen[now.oid]
        keys = _keys(now.lines)
        paired = line_diff.pairs(_keys(self.lines), keys)
        known = {j: self.numbers[i] for i, j in paired}
        if regains:
            self._regain(now.lines, known, who, regains)
        for j in range(len(keys)):
            if j not in known:
                known[j] = self._new(authors.get(j, who))
            self._texts[keys[j]] = known[j]
        return [known[j] for j in range(len(now.lines))]

    def _regain(
        self, now: Sequence[bytes], known: dict[int, int], who: Writer, regains: Regains
    ) -> None:
        used = set(known.values())
        for j, line in enumerate(now):
            number = self._texts.get(without_space(line))
            if j not in known and number is not None and number not in used and regains(line):
                used.add(number)
                if number not in self.takers:
                    self._changers[number] = who  # it moved
                elif regains is not every and number not in self._kept:
                    # It went, and nothing keeps it: a session may have typed it once more, and of
                    # the person nobody knows.
                    number = self._new(UNKNOWN if who == PERSON else who)
                known[j] = number

    def _new(self, who: Writer) -> int:
        self.authors[self._count] = who
        self._count += 1
        return self._count - 1

    def at(self, version: Version, rest: Writer) -> list[int]:
        """The numbers of the lines of a content, be it one of the steps or a part of them
        (staged by hunks); what is in none of them is rest's."""
        if version.oid in self._seen:
            return self._seen[version.oid]
        return self._numbered(version, rest, every, {})

    def author(self, number: int) -> Writer:
        """Who wrote a line; UNKNOWN for one that was there before the first step and of which
        nobody was told."""
        if self._before and number not in self.authors:
            self.authors = {**self._before(), **self.authors}
            self._before = None
        return self.authors.get(number, UNKNOWN)

    def taker(self, number: int, otherwise: Writer) -> Writer:
        """Who took a line away, or moved or indented it; otherwise where no step has."""
        return self.takers.get(number) or self._changers.get(number, otherwise)


def pairs(old: Sequence[bytes], new: Sequence[bytes]) -> line_diff.Pairs:
    """(i, j) for each line that both have, white space aside."""
    return line_diff.pairs(_keys(old), _keys(new))


def _keys(lines: Sequence[bytes]) -> list[bytes]:
    return [without_space(line) for line in lines]
