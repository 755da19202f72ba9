"""Replay the edits of a path: who wrote each line, and who removed each line that is gone.

A line keeps its author while a step carries it on (gitcp.text.carry): as it was, in another form
or at another place.  A content that the path had before gets its authors back.  A line that no
step explains gets the caller's default.
"""

from __future__ import annotations

from gitcp.text.ids import PERSON, UNKNOWN
from gitcp.text.pairing import count_same_ends, list_keys, pair_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set
    from typing import Protocol

    from gitcp.text.carry.moves import Place, Source
    from gitcp.text.record_types import Writer

    class Elsewhere(Protocol):
        """Other contents that lines may come from."""

        def list_sources(self, keys: Sequence[bytes]) -> Sequence[Source]:
            """The contents that have some of the lines with these keys."""

        def find_author(self, place: Place) -> Writer:
            """Who wrote a line; place: in list_sources()."""

    Regains = Callable[[bytes], bool]

LEAST_MOVED = 20  # bytes: less is not carried on from another content
LEAST_COPIED = 3  # lines: fewer are not carried on by a copy


class Version:
    """A content: its blob ('' for no file) and its lines, as split_text_lines() gives them."""

    __slots__ = ("lines", "oid")

    def __init__(self, oid: str, lines: Sequence[bytes]) -> None:
        self.oid = oid
        self.lines = lines


def accepts_any_line(line: bytes) -> bool:
    """True: a line of any content regains its author."""
    return True


class _Numbered:
    """The numbers of a content's lines, and its lines without white space."""

    __slots__ = ("keys", "numbers")

    def __init__(self, numbers: list[int], keys: list[bytes]) -> None:
        self.numbers = numbers
        self.keys = keys


class _Step:
    """The lines of a content whose numbers are looked for.

    keys: the lines without white space.  changed: the indices of the lines that do not stay at
    their ends; who gave the path these.  origins: index -> index of the equal line of the content
    before.  numbers: index -> number, as far as they are known.  used: numbers that lines have.
    """

    __slots__ = ("changed", "keys", "lines", "numbers", "origins", "used", "who")

    def __init__(
        self, lines: Sequence[bytes], keys: list[bytes], changed: range, who: Writer
    ) -> None:
        self.lines = lines
        self.keys = keys
        self.changed = changed
        self.who = who
        self.origins: dict[int, int] = {}
        self.numbers: dict[int, int] = {}
        self.used: set[int] = set()

    def list_left(self) -> list[int]:
        """The lines without a number."""
        return [line for line in self.changed if line not in self.numbers]


class Replay:
    """The lines of a path after each of its steps.

    A line keeps its number through all of them while it changes in white space at most.  One that
    carries on another one in a new form, or copies it, has a number of its own, whose root is the
    number of the first: it has written what both say.
    """

    def __init__(
        self, first: Version, before: Callable[[], Mapping[int, Writer]] | None = None
    ) -> None:
        """before: the authors of lines of the first content, by index; called when one is asked."""
        self.authors: dict[int, Writer] = {}
        self.takers: dict[int, Writer] = {}  # who removed each line that is gone
        self._took: dict[int, Writer] = {}  # who last removed a line, which may be back
        self._changers: dict[int, Writer] = {}  # who moved, indented or reformatted a line
        self._roots: dict[int, int] = {}  # of lines that carry on others
        self._joined: set[int] = set()  # lines that the last step made parts of others
        self._before = before
        self.count = len(first.lines)  # of the lines that the path ever had
        self._stored: set[int] = set()  # lines that a commit or a stash has
        self.lines: Sequence[bytes] = first.lines
        self._keys = list_keys(first.lines)
        self.numbers = list(range(self.count))
        self._seen: dict[str, list[int]] = {first.oid: self.numbers}
        self._texts: dict[bytes, int] = dict(zip(self._keys, self.numbers, strict=True))
        self.first = first
        self._cause: Writer = UNKNOWN  # the call that makes the next step, whoever wrote its lines
        self._at = 0  # when the next step is made, in ns; 0 if unknown

    def copy(self) -> Replay:
        """A copy that takes steps of its own."""
        other = Replay.__new__(Replay)
        for name, value in vars(self).items():
            if isinstance(value, (dict, set)):
                setattr(other, name, value.copy())
            else:
                setattr(other, name, value)
        return other

    def begin_step(self, cause: Writer, at: int) -> None:
        """Say of the next steps which call makes them, and when in ns (0: not known)."""
        self._cause = cause
        self._at = at

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
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Add a step: who gave the path this content.

        regains: as for _regain_numbers(), None for no line.  authors: of lines with another known
        author, by index.  is_kept: a commit or `git stash` has the old lines.  elsewhere: other
        contents that lines may come from.
        """
        start, end = ends = self._count_same_ends(version)
        old_end = len(self.lines) - end
        new_end = len(version.lines) - end
        old = dict(zip(self.numbers[start:old_end], self.lines[start:old_end], strict=True))
        self._joined.clear()
        returns = who == UNKNOWN and self.knows(version)  # the former removers count again
        if is_kept:
            self._stored.update(self.numbers)
        found = self._number_lines(version, ends, who, regains, authors or {}, elsewhere)
        self.numbers = found.numbers
        self._keys = found.keys
        self.lines = version.lines
        self._seen[version.oid] = self.numbers
        new = dict(zip(self.numbers[start:new_end], self.lines[start:new_end], strict=True))
        self._note_gone(old.keys() - new.keys(), who, returns)
        for number, line in new.items():
            self.takers.pop(number, None)
            if old.get(number, line) != line:
                self._changers[number] = who

    def _note_gone(self, gone: Set[int], who: Writer, returns: bool) -> None:
        """Note who took lines away, or gave them another form.  returns: whether the content was
        here before, so that its former takers are meant."""
        standing: set[int] = set()
        if gone and self._roots:
            standing.update(map(self.get_root, self.numbers))
        for number in gone:
            taker = who
            if returns:
                taker = self._took.get(number, who)
            if number in self._joined or self.get_root(number) in standing:
                self._changers[number] = taker
            else:
                self.takers[number] = taker
                self._took[number] = taker

    def _count_same_ends(self, version: Version) -> tuple[int, int]:
        """How many lines at the start and the end keep their numbers; none if the path has had this
        content, which has numbers already."""
        same = (0, 0)
        if self.knows(version):
            return same
        return count_same_ends(self.lines, version.lines)

    def _number_lines(
        self,
        version: Version,
        ends: tuple[int, int],
        who: Writer,
        regains: Regains | None,
        authors: Mapping[int, Writer],
        elsewhere: Elsewhere | None = None,
    ) -> _Numbered:
        """Number the lines of a content.  ends: as _count_same_ends() has them.

        A line that is paired with an equal one of the present content has its number.  Another one
        carries on a line, regains a number, or gets a new one.
        """
        start, end = ends
        old_end = len(self.lines) - end
        new_end = len(version.lines) - end
        middle = list_keys(version.lines[start:new_end])
        keys = [*self._keys[:start], *middle, *self._keys[old_end:]]
        if self.knows(version):
            return _Numbered(self._seen[version.oid], keys)
        step = _Step(version.lines, keys, range(start, new_end), who)
        for old, new in pair_lines(self._keys[start:old_end], middle):
            step.origins[start + new] = start + old
            step.numbers[start + new] = self.numbers[start + old]
        if len(step.numbers) < len(middle):
            step.used.update(self.numbers[:start], step.numbers.values(), self.numbers[old_end:])
            self._number_others(step, regains, authors, elsewhere)
        between = [step.numbers[line] for line in step.changed]
        numbers = [*self.numbers[:start], *between, *self.numbers[old_end:]]
        self._texts.update(zip(keys, numbers, strict=True))
        return _Numbered(numbers, keys)

    def _number_others(
        self,
        step: _Step,
        regains: Regains | None,
        authors: Mapping[int, Writer],
        elsewhere: Elsewhere | None,
    ) -> None:
        """Number the lines that are equal to none of the present content."""
        if regains:
            self._regain_numbers(step, regains)
        for line in step.list_left():
            if authors.get(line, UNKNOWN) != UNKNOWN:
                step.numbers[line] = self._add_line(authors[line])
        self._carry_numbers(step, elsewhere)
        for line in step.list_left():
            step.numbers[line] = self._add_line(authors.get(line, step.who))

    def _regain_numbers(self, step: _Step, regains: Regains) -> None:
        """Number those lines that the path has had.

        regains: whether a line may regain its number; accepts_any_line for a content from elsewhere
        in the repository.
        """
        others = self._find_other_forms(step)
        for line in step.list_left():
            number = self._texts.get(step.keys[line])
            if number is None or number in step.used or not regains(step.lines[line]):
                continue
            if number in others:
                continue
            step.used.add(number)
            if number not in self.takers:
                self._changers[number] = step.who  # it moved, or its form is the former one
            elif regains is not accepts_any_line and number not in self._stored:
                # Nothing has the line: a session wrote it anew, a person perhaps by an undo.
                if step.who == PERSON:
                    number = self._add_line(UNKNOWN)
                else:
                    number = self._add_line(step.who)
            step.numbers[line] = number

    def _find_other_forms(self, step: _Step) -> set[int]:
        """The lines of former contents that stand in a step in another form."""
        if not self._roots:
            return set()
        standing = {self.get_root(number) for number in step.used}
        others = {number for number, root in self._roots.items() if root in standing}
        others.update(standing)
        return others.difference(self.numbers)

    def _carry_numbers(self, step: _Step, elsewhere: Elsewhere | None) -> None:
        """Number those lines that carry on lines of the present content, or of other ones."""
        left = step.list_left()
        could = len(self.lines) - len(step.lines) + len(step.changed)  # lines that do not stay
        is_likely = len(step.origins) < could or (len(left) >= LEAST_COPIED and self.lines)
        size = sum(len(step.keys[line]) for line in left)
        sources: Sequence[Source] = ()
        if elsewhere and size >= LEAST_MOVED:
            sources = elsewhere.list_sources([step.keys[line] for line in left])
        if not left or not (is_likely or sources):
            return

        from gitcp.text.carry import origins
        from gitcp.text.carry.text import Text

        before = Text(self.lines, self._keys)
        after = Text(step.lines, step.keys)
        carried = origins.carry_on(before, after, self._list_origins(step), sources)
        self._joined.update([self.numbers[old] for old in carried.joined])
        for line in left:
            origin = carried.origins[line]
            if origin >= 0:
                step.numbers[line] = self._choose_number(step, line, origin)
            elif elsewhere and line in carried.places:
                step.numbers[line] = self._add_line(elsewhere.find_author(carried.places[line]))

    def _list_origins(self, step: _Step) -> list[int]:
        """By line of a step, the equal one of the present content, or -1."""
        shift = len(self.lines) - len(step.lines)
        start = range(step.changed.start)
        end = range(step.changed.stop + shift, len(self.lines))
        return [*start, *[step.origins.get(line, -1) for line in step.changed], *end]

    def _choose_number(self, step: _Step, line: int, origin: int) -> int:
        """The number of a line that carries on another one: the same if it has only moved, a former
        one if it has this form again, else a new one."""
        number = self.numbers[origin]
        root = self.get_root(number)
        former = self._texts.get(step.keys[line], -1)
        if self._keys[origin] == step.keys[line] and number not in step.used:
            self._changers[number] = step.who
        elif former >= 0 and former not in step.used and self.get_root(former) == root:
            number = former
        else:
            number = self.count
            self._roots[number] = root
            self.count += 1
        step.used.add(number)
        return number

    def _add_line(self, who: Writer) -> int:
        self.authors[self.count] = who
        self.count += 1
        return self.count - 1

    def get_root(self, number: int) -> int:
        """The line that a line carries on in another form or as a copy; itself for most."""
        return self._roots.get(number, number)

    def claim_lines(self, before: Version, who: Writer, since: int) -> None:
        """Give who the lines that the last step added to the content `before`, if a step of no
        session has seemed to add them: since, the number of its first line."""
        had = {*self._seen[before.oid], *range(since)}
        for number in map(self.get_root, self.numbers):
            if number not in had and not self.authors.get(number, who)[0]:
                self.authors[number] = who

    def find_numbers(
        self, version: Version, default: Writer, elsewhere: Elsewhere | None = None
    ) -> list[int]:
        """The numbers of the lines of a content, which may be a part of the steps (staged by
        hunks); default: the author of lines that no step has.  elsewhere: as for add_step()."""
        if version.oid in self._seen:
            return self._seen[version.oid]
        ends = self._count_same_ends(version)
        return self._number_lines(version, ends, default, accepts_any_line, {}, elsewhere).numbers

    def get_author(self, number: int) -> Writer:
        """Who wrote a line; UNKNOWN for a line of the first content without a known author."""
        root = self.get_root(number)
        if self._before and root not in self.authors:
            self.authors = {**self._before(), **self.authors}
            self._before = None
        return self.authors.get(root, UNKNOWN)

    def get_taker(self, number: int, otherwise: Writer) -> Writer:
        """Who removed a line, or moved or indented it; `otherwise` if no step has."""
        return self.takers.get(number) or self._changers.get(number, otherwise)
