"""Where the lines of a content were in the content before it (doc/credit.md "Where a line was").

Lines are compared without white space.  A line that a change leaves alone stays where it is; one
that it takes out and puts in again has moved.  A run is consecutive lines that are looked for
together.  A telling line is one of select_significant() by which its place can be known.
"""

from __future__ import annotations

from functools import cached_property

from gitcp.text import ids, line_evidence, pairing
from gitcp.text.carry import moves
from gitcp.text.carry import text as carry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set

_FEW = 16  # keys that are looked for one by one
_LARGE = 1 << 13  # bytes of a text that is not compared line by line


class Text:
    """A content."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def carried(self) -> carry.Text:
        """The content as carry() compares it."""
        lines = line_evidence.split_lines(self._data)
        if len(lines) == len(self.keys):
            return carry.Text(lines, self.keys)
        return carry.Text(lines)  # its last line is white space without a newline

    @cached_property
    def hard_keys(self) -> frozenset[bytes]:
        """The keys by which a line of it is looked for among those that another file has."""
        return frozenset(self.carried.hard_keys)

    @cached_property
    def _flat(self) -> bytes:
        """The content without white space."""
        return ids.remove_space(self._data)

    @cached_property
    def keys(self) -> list[bytes]:
        """Its lines without white space."""
        return line_evidence.split_lines(self._flat)

    @cached_property
    def flat(self) -> bytes:
        """Its lines, each between two newlines."""
        return b"\n%s\n" % self._flat.removesuffix(b"\n")

    @cached_property
    def places(self) -> dict[bytes, int]:
        """key -> the index of the only line that reads so; -1 for several."""
        return _index_lines(self.keys)

    @cached_property
    def exact_places(self) -> dict[bytes, int]:
        """line, with its white space -> the same."""
        return _index_lines(self.carried.lines)


def _index_lines(lines: Sequence[bytes]) -> dict[bytes, int]:
    """line -> its index; -1 for several."""
    count = len(lines)
    last = dict(zip(lines, range(count), strict=True))
    if len(last) == count:
        return last
    first = dict(zip(reversed(lines), range(count - 1, -1, -1), strict=True))
    return {line: index if first[line] == index else -1 for line, index in last.items()}


def find_once(text: Text, keys: Set[bytes]) -> dict[bytes, int]:
    """key -> index of its line, for those of keys that exactly one line of the text has."""
    if len(keys) < _FEW:
        starts = {key: _locate_only(b"\n%s\n" % key, text.flat) for key in keys}
        return {key: text.flat.count(b"\n", 0, n) for key, n in starts.items() if n >= 0}
    if keys.isdisjoint(text.keys):
        return {}
    found = [(key, index) for index, key in enumerate(text.keys) if key in keys]
    counts = pairing.count_equal_lines([key for key, _ in found])
    return {key: index for key, index in found if counts[key] == 1}


class Run:
    """Consecutive lines of a content.

    first: the number (1-based) of the first line.  lines: the numbers that they have in the content
    where the search began.  keys: the lines without white space."""

    __slots__ = ("_flat", "first", "keys", "lines")

    def __init__(self, first: int, lines: Sequence[int], keys: Sequence[bytes]) -> None:
        self.first = first
        self.lines = lines
        self.keys = keys
        self._flat = b""

    @property
    def flat(self) -> bytes:
        """Its lines, each between two newlines."""
        if not self._flat:
            self._flat = b"\n%s\n" % b"\n".join(self.keys)
        return self._flat

    def select(self, accepts: Callable[[bytes], bool]) -> list[Run]:
        """The runs of its lines whose keys are accepted."""
        chosen = line_evidence.group_runs(n for n, key in enumerate(self.keys) if accepts(key))
        return [
            Run(self.first + first, self.lines[first : last + 1], self.keys[first : last + 1])
            for first, last in chosen
        ]

    def move(self, first: int) -> Run:
        """The same lines at another place."""
        moved = Run(first, self.lines, self.keys)
        moved._flat = self._flat
        return moved


def build_runs(numbers: Iterable[int], text: Text) -> list[Run]:
    """The runs of lines (1-based) of a text."""
    asked = {n for n in numbers if 0 < n <= len(text.keys)}
    return [
        Run(first, range(first, last + 1), text.keys[first - 1 : last])
        for first, last in line_evidence.group_runs(asked)
    ]


def compare(old: Text, new: Text) -> dict[int, int]:
    """index in new -> index in old of the lines that stayed or moved."""
    start, end = _count_same_ends(old.flat, new.flat)
    last = len(old.keys) - end
    after = len(new.keys) - end
    pairs = {j: j for j in range(start)}
    for i, j in pairing.pair_lines(old.keys[start:last], new.keys[start:after]):
        pairs[start + j] = start + i
    stayed = set(pairs.values())
    removed = {i for i in range(start, last) if i not in stayed}
    added = [j for j in range(start, after) if j not in pairs]
    for n in range(end):
        pairs[after + n] = last + n
    if removed and added:
        source = moves.Source(old.carried, removed)
        for j, place in moves.find_moved(new.carried, added, [source]).items():
            if place.line in removed and old.keys[place.line] == new.keys[j]:
                pairs[j] = place.line
    return pairs


def _count_same_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """How many lines two flat texts share at the start, and how many of the others at the end."""
    shorter = min(len(old), len(new))
    same = _find_last(shorter, lambda n: old[:n] == new[:n])
    same = old.rfind(b"\n", 0, same)
    ends = _find_last(shorter - same, lambda n: old[-n:] == new[-n:])
    end = new.find(b"\n", len(new) - ends)
    return new.count(b"\n", 0, same), new.count(b"\n", end) - 1


def _find_last(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest number from 1 to limit for which holds() is true, 0 for none; it is true for all
    that are smaller."""
    low = 0
    high = max(limit, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def find_runs(runs: Iterable[Run], old: Text, new: Text) -> tuple[list[Run], list[Run]]:
    """(runs of the lines that old had, runs of those that it had not), for runs of new.

    A run that each text has once, with a significant line, is found as a whole; otherwise its lines
    are found one by one.  In large texts a line that is neither telling nor beside a telling line
    is in neither result.
    """
    found: list[Run] = []
    lacking: list[Run] = []
    pairs: dict[int, int] | None = None
    for run in runs:
        first = _find_telling(run, old, new)
        if first:
            found.append(run.move(first))
        elif max(len(old.flat), len(new.flat)) > _LARGE:
            _divide(run, find_telling_lines(run, old, new), found, lacking, old)
        else:
            if pairs is None:
                pairs = compare(old, new)
            _divide(run, pairs, found, lacking, None)
    return found, lacking


def find_telling_lines(run: Run, old: Text, new: Text) -> dict[int, int]:
    """index in new -> index in old of the lines of a run that are significant and that each text
    has once, and of equal lines beside them."""
    indices = range(run.first - 1, run.first - 1 + len(run.lines))
    telling = line_evidence.select_significant({new.keys[j] for j in indices})
    pairs: dict[int, int] = {}
    for j in indices:
        key = new.keys[j]
        if key in telling and old.places.get(key, -1) >= 0 and new.places[key] == j:
            pairs[j] = old.places[key]
    for step in (1, -1):
        for j, i in sorted(pairs.items(), reverse=step < 0):
            at = j + step
            source = i + step
            while (
                at in indices
                and at not in pairs
                and 0 <= source < len(old.keys)
                and new.keys[at] == old.keys[source]
            ):
                pairs[at] = source
                at = at + step
                source = source + step
    return pairs


def _find_telling(run: Run, old: Text, new: Text) -> int:
    """The line (1-based) where a run with a significant line begins in old; 0 unless each text has
    it once."""
    start = _locate_only(run.flat, old.flat)
    is_telling = start >= 0 and _locate_only(run.flat, new.flat) >= 0
    if is_telling and line_evidence.select_significant({*run.keys}):
        return old.flat.count(b"\n", 0, start + 1)
    return 0


def _locate_only(part: bytes, flat: bytes) -> int:
    """Where a part begins in a flat text; -1 unless it is there once."""
    start = flat.find(part)
    if start < 0 or flat.find(part, start + 1) >= 0:
        return -1
    return start


def _divide(
    run: Run, pairs: Mapping[int, int], found: list[Run], lacking: list[Run], old: Text | None
) -> None:
    """Divide a run into parts: add to found those whose lines are paired, with their places in the
    old text, and to lacking the others.  old: leave out unpaired lines that this text has; None:
    leave out none."""
    start = 0
    for end in range(1, len(run.lines) + 1):
        at = run.first - 1 + start
        before = pairs.get(at)
        if before is None:
            follows = None
        else:
            follows = before + end - start
        if end == len(run.lines) or pairs.get(run.first - 1 + end) != follows:
            if before is None:
                first = run.first + start
            else:
                first = before + 1
            part = Run(first, run.lines[start:end], run.keys[start:end])
            if before is not None:
                found.append(part)
            elif old is None:
                lacking.append(part)
            else:
                lacking += part.select(lambda key: key not in old.places)
            start = end
