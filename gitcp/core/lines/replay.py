"""Lines carried through what happened to a path: who wrote each, who took each that is gone.

A line keeps its author while a diff leaves it alone, or changes white space in it only; content
that was there before brings its authors back.  Nothing here guesses: what no step explains gets
the author the caller names.
"""

from __future__ import annotations

from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.core.decide.line_evidence import remove_space
from gitcp.core.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.record_types import Writer

    Regains = Callable[[bytes], bool]

__all__ = ["PERSON", "UNKNOWN", "Replay", "Version", "accepts_any_line", "split"]


class Version:
    """A content: its blob ('' for no file) and its lines, as split() gives them."""

    __slots__ = ("lines", "oid")

    def __init__(self, oid: str, lines: Sequence[bytes]) -> None:
        self.oid, self.lines = oid, lines


LARGEST = 2 << 20  # bytes up to which a text has lines
_SNIFFED = 8000  # where git looks for a NUL to call content binary


def accepts_any_line(line: bytes) -> bool:
    """Each line, whatever it says."""
    return True


def has_no_lines(data: bytes) -> bool:
    """Whether a content has one author, not one a line: binary as git tells it, or too large."""
    return len(data) > LARGEST or b"\0" in data[:_SNIFFED]


def split(oid: str, data: bytes | None) -> list[bytes]:
    """The lines of a content; of one that has_no_lines() a single line, which is its name."""
    if not data:
        return []
    return [b"\0" + oid.encode()] if has_no_lines(data) else line_diff.split_lines(data)


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
        self._keys = _list_keys(first.lines)
        self.numbers = list(range(self._count))
        self._seen: dict[str, list[int]] = {first.oid: self.numbers}
        self._texts: dict[bytes, int] = dict(zip(self._keys, self.numbers, strict=True))
        self.first = first

    def copy(self) -> Replay:
        """The same as it stands, to be asked and stepped apart."""
        other = Replay.__new__(Replay)
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, (dict, set)) else value)
        return other

    def knows(self, version: Version) -> bool:
        """Whether a content is one of the steps."""
        return version.oid in self._seen

    def add_step(
        self,
        now: Version,
        who: Writer,
        regains: Regains | None = None,
        authors: Mapping[int, Writer] | None = None,
        is_kept: bool = False,
    ) -> None:
        """The path has another content, by who; regains: which of the lines that are known from
        before keep their authors though they moved or come back, all of them where it came from
        elsewhere in the repository.  authors: by index, of those of its lines whose author is
        known otherwise.  is_kept: a commit or `git stash` has the lines that go."""
        start, end = self._count_same_ends(now)
        was, old = self.numbers[start : len(self.numbers) - end], self.numbers
        texts = dict(zip(was, self.lines[start : len(self.lines) - end], strict=True))
        returns = who == UNKNOWN and self.knows(now)  # it lacks what it lacked, by the same hand
        self.numbers, self._keys = self._number_lines(now, who, regains, authors or {})
        self._kept |= {*old} if is_kept else set()
        self.lines = now.lines
        self._seen[now.oid] = self.numbers
        stands = self.numbers[start : len(self.numbers) - end]
        for number in set(was).difference(stands):
            taker = self._took.get(number, who) if returns else who
            self.takers[number] = self._took[number] = taker
        for number, line in zip(stands, now.lines[start : len(now.lines) - end], strict=True):
            self.takers.pop(number, None)
            if texts.get(number, line) != line:
                self._changers[number] = who

    def _count_same_ends(self, now: Version) -> tuple[int, int]:
        """How many lines a content begins and ends with as the one before, each under its number;
        none where it is known from before, with numbers of its own."""
        return (0, 0) if self.knows(now) else line_diff.count_same_ends(self.lines, now.lines)

    def _number_lines(
        self, now: Version, who: Writer, regains: Regains | None, authors: Mapping[int, Writer]
    ) -> tuple[list[int], list[bytes]]:
        """The numbers of a content's lines, and its lines without white space."""
        start, end = line_diff.count_same_ends(self.lines, now.lines)
        tail = len(self.lines) - end
        here = now.lines[start : len(now.lines) - end]
        middle = _list_keys(here)
        keys = [*self._keys[:start], *middle, *self._keys[tail:]]
        if now.oid in self._seen:
            return self._seen[now.oid], keys
        paired = line_diff.pair_lines(self._keys[start:tail], middle)
        known = {j: self.numbers[start + i] for i, j in paired}
        if regains and len(known) < len(here):
            used = {*self.numbers[:start], *known.values(), *self.numbers[tail:]}
            self._regain(here, known, used, who, regains)
        between = [
            known[j] if j in known else self._add_line(authors.get(start + j, who))
            for j in range(len(here))
        ]
        numbers = [*self.numbers[:start], *between, *self.numbers[tail:]]
        self._texts.update(zip(keys, numbers, strict=True))
        return numbers, keys

    def _regain(
        self,
        now: Sequence[bytes],
        writers: dict[int, int],
        used: set[int],
        who: Writer,
        regains: Regains,
    ) -> None:
        """Give lines back their numbers, by index, as far as these are not used."""
        for j, line in enumerate(now):
            number = None if j in writers else self._texts.get(remove_space(line))
            if number is not None and number not in used and regains(line):
                used.add(number)
                if number not in self.takers:
                    self._changers[number] = who  # it moved
                elif regains is not accepts_any_line and number not in self._kept:
                    # Nothing keeps it: a session typed it once more; of the person it is unknown.
                    number = self._add_line(UNKNOWN if who == PERSON else who)
                writers[j] = number

    def _add_line(self, who: Writer) -> int:
        self.authors[self._count] = who
        self._count += 1
        return self._count - 1

    def find_numbers(self, version: Version, default: Writer) -> list[int]:
        """The numbers of the lines of a content, be it one of the steps or a part of them
        (staged by hunks); default: the author of a line that is in none of them."""
        if version.oid in self._seen:
            return self._seen[version.oid]
        return self._number_lines(version, default, accepts_any_line, {})[0]

    def get_author(self, number: int) -> Writer:
        """Who wrote a line; UNKNOWN for one that was there before the first step and of which
        nobody was told."""
        if self._before and number not in self.authors:
            self.authors = {**self._before(), **self.authors}
            self._before = None
        return self.authors.get(number, UNKNOWN)

    def get_taker(self, number: int, otherwise: Writer) -> Writer:
        """Who took a line away, or moved or indented it; otherwise where no step has."""
        return self.takers.get(number) or self._changers.get(number, otherwise)


def pair_lines(old: Sequence[bytes], new: Sequence[bytes]) -> line_diff.Pairs:
    """(i, j) for each line that both have, white space aside."""
    return line_diff.pair_lines(_list_keys(old), _list_keys(new))


def _list_keys(lines: Sequence[bytes]) -> list[bytes]:
    return [remove_space(line) for line in lines]
