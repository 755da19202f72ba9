"""Replay the edits of a path: who wrote each line, and who removed each line that is gone.

A line keeps its author while a diff does not change it except for white space.  A content that the
path had before gets its authors back.  A line that no step explains gets the caller's default.
"""

from __future__ import annotations

from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.core.decide.line_evidence import is_binary, remove_space
from gitcp.core.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.record_types import Writer

    Regains = Callable[[bytes], bool]


class Version:
    """A content: its blob ('' for no file) and its lines, as split() gives them."""

    __slots__ = ("lines", "oid")

    def __init__(self, oid: str, lines: Sequence[bytes]) -> None:
        self.oid, self.lines = oid, lines


LARGEST = 2 << 20  # bytes: a larger content is not split into lines


def accepts_any_line(line: bytes) -> bool:
    """True: a line of any content regains its author."""
    return True


def has_no_lines(data: bytes) -> bool:
    """Whether a content is binary or too large to be split into lines."""
    return len(data) > LARGEST or is_binary(data)


def split(oid: str, data: bytes | None) -> list[bytes]:
    """The lines of a content; if it has_no_lines(), one line that is NUL and its oid."""
    if not data:
        return []
    return [b"\0" + oid.encode()] if has_no_lines(data) else line_diff.split_lines(data)


class Replay:
    """The lines of a path after each of its steps; a line keeps its number through all of them."""

    def __init__(
        self, first: Version, before: Callable[[], Mapping[int, Writer]] | None = None
    ) -> None:
        """before: the authors of lines of the first content, by index; called when one is asked."""
        self.authors: dict[int, Writer] = {}
        self.takers: dict[int, Writer] = {}  # who removed each line that is gone
        self._took: dict[int, Writer] = {}  # who last removed a line, which may be back
        self._changers: dict[int, Writer] = {}  # who moved or indented a line
        self._before = before
        self._count = len(first.lines)
        self._stored: set[int] = set()  # lines that a commit or a stash has
        self.lines: Sequence[bytes] = first.lines
        self._keys = _list_keys(first.lines)
        self.numbers = list(range(self._count))
        self._seen: dict[str, list[int]] = {first.oid: self.numbers}
        self._texts: dict[bytes, int] = dict(zip(self._keys, self.numbers, strict=True))
        self.first = first

    def copy(self) -> Replay:
        """A copy that takes steps of its own."""
        other = Replay.__new__(Replay)
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, (dict, set)) else value)
        return other

    def knows(self, version: Version) -> bool:
        """Whether the path has had this content."""
        return version.oid in self._seen

    def add_step(
        self,
        version: Version,
        who: Writer,
        regains: Regains | None = None,
        authors: Mapping[int, Writer] | None = None,
        is_kept: bool = False,
    ) -> None:
        """Add a step: who gave the path this content.

        regains: as for _regain_numbers(), None for no line.  authors: of lines with another known
        author, by index.  is_kept: a commit or `git stash` has the old lines.
        """
        start, end = ends = self._count_same_ends(version)
        old_end, new_end = len(self.lines) - end, len(version.lines) - end
        old = dict(zip(self.numbers[start:old_end], self.lines[start:old_end], strict=True))
        returns = who == UNKNOWN and self.knows(version)  # the former removers count again
        if is_kept:
            self._stored.update(self.numbers)
        self.numbers, self._keys = self._number_lines(version, ends, who, regains, authors or {})
        self.lines = version.lines
        self._seen[version.oid] = self.numbers
        new = dict(zip(self.numbers[start:new_end], self.lines[start:new_end], strict=True))
        for number in old.keys() - new.keys():
            taker = self._took.get(number, who) if returns else who
            self.takers[number] = self._took[number] = taker
        for number, line in new.items():
            self.takers.pop(number, None)
            if old.get(number, line) != line:
                self._changers[number] = who

    def _count_same_ends(self, version: Version) -> tuple[int, int]:
        """How many lines at the start and the end keep their numbers; none if the path has had this
        content, which has numbers already."""
        same = (0, 0)
        return same if self.knows(version) else line_diff.count_same_ends(self.lines, version.lines)

    def _number_lines(
        self,
        version: Version,
        ends: tuple[int, int],
        who: Writer,
        regains: Regains | None,
        authors: Mapping[int, Writer],
    ) -> tuple[list[int], list[bytes]]:
        """The numbers of a content's lines, and its lines without white space.  ends: as
        _count_same_ends() has them.

        A line that is paired with one of the present content has its number; another one regains
        a number, or gets a new one.
        """
        start, end = ends
        old_end, new_end = len(self.lines) - end, len(version.lines) - end
        middle = _list_keys(version.lines[start:new_end])
        keys = [*self._keys[:start], *middle, *self._keys[old_end:]]
        if self.knows(version):
            return self._seen[version.oid], keys
        pairs = line_diff.pair_lines(self._keys[start:old_end], middle)
        numbered = {start + j: self.numbers[start + i] for i, j in pairs}
        if regains and len(numbered) < len(middle):
            used = {*self.numbers[:start], *numbered.values(), *self.numbers[old_end:]}
            unpaired = [j for j in range(start, new_end) if j not in numbered]
            numbered |= self._regain_numbers(version, unpaired, used, who, regains)
        between = [
            numbered[j] if j in numbered else self._add_line(authors.get(j, who))
            for j in range(start, new_end)
        ]
        numbers = [*self.numbers[:start], *between, *self.numbers[old_end:]]
        self._texts.update(zip(keys, numbers, strict=True))
        return numbers, keys

    def _regain_numbers(
        self, version: Version, indexes: list[int], used: set[int], who: Writer, regains: Regains
    ) -> dict[int, int]:
        """index -> number, for those lines at indexes that the path has had.

        regains: whether a line may regain its number; accepts_any_line for a content from elsewhere
        in the repository.  used: the numbers that other lines of the content have.
        """
        regained = {}
        for index in indexes:
            line = version.lines[index]
            number = self._texts.get(remove_space(line))
            if number is None or number in used or not regains(line):
                continue
            used.add(number)
            if number not in self.takers:
                self._changers[number] = who  # it moved
            elif regains is not accepts_any_line and number not in self._stored:
                # Nothing has the line: a session wrote it anew, a person perhaps by an undo.
                number = self._add_line(UNKNOWN if who == PERSON else who)
            regained[index] = number
        return regained

    def _add_line(self, who: Writer) -> int:
        self.authors[self._count] = who
        self._count += 1
        return self._count - 1

    def find_numbers(self, version: Version, default: Writer) -> list[int]:
        """The numbers of the lines of a content, which may be a part of the steps (staged by
        hunks); default: the author of lines that no step has."""
        if version.oid in self._seen:
            return self._seen[version.oid]
        ends = self._count_same_ends(version)
        return self._number_lines(version, ends, default, accepts_any_line, {})[0]

    def get_author(self, number: int) -> Writer:
        """Who wrote a line; UNKNOWN for a line of the first content without a known author."""
        if self._before and number not in self.authors:
            self.authors = {**self._before(), **self.authors}
            self._before = None
        return self.authors.get(number, UNKNOWN)

    def get_taker(self, number: int, otherwise: Writer) -> Writer:
        """Who removed a line, or moved or indented it; `otherwise` if no step has."""
        return self.takers.get(number) or self._changers.get(number, otherwise)


def pair_lines(old: Sequence[bytes], new: Sequence[bytes]) -> line_diff.Pairs:
    """The pairs (i, j) of lines that are equal but for white space."""
    return line_diff.pair_lines(_list_keys(old), _list_keys(new))


def _list_keys(lines: Sequence[bytes]) -> list[bytes]:
    return [remove_space(line) for line in lines]
