"""What carry() costs on top of the pairing of equal lines, in ms of processor time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gitcp.text import pairing
from gitcp.text.carry.moves import Source
from gitcp.text.carry.origins import carry
from gitcp.text.carry.text import Text

_ROUNDS = 5


@dataclass(slots=True)
class Cost:
    """The least of some rounds, in ms; changed: lines that the old texts have not got."""

    pairing: float = 0
    whole: float = 0
    changed: int = 0

    @property
    def per_thousand(self) -> float:
        """On top of pairing, for 1,000 changed lines."""
        return 1000 * (self.whole - self.pairing) / max(1, self.changed)


def _clock(do: Callable[[], object]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        do()
        taken.append(1000 * (time.process_time() - start))
    return min(taken)


def measure(files: Iterable[tuple[Sequence[bytes], Sequence[bytes]]]) -> Cost:
    """What files cost that were formatted: each before and after."""
    total = Cost()
    for old, new in files:
        cost = measure_pair(old, new)
        total.whole += cost.whole
        total.pairing += cost.pairing
        total.changed += cost.changed
    return total


def measure_pair(old: Sequence[bytes], new: Sequence[bytes]) -> Cost:
    """What a text costs before and after a change."""
    whole = _clock(lambda: carry(Text(old), Text(new)))
    equal = _clock(lambda: pairing.pair_lines(Text(old).keys, Text(new).keys))
    return Cost(equal, whole, len(set(Text(new).keys).difference(Text(old).keys)))


def measure_unchanged(lines: Sequence[bytes]) -> float:
    """A text of which nothing changed, its keys not known yet."""
    return _clock(lambda: carry(Text(list(lines)), Text(list(lines))))


def measure_moves(new: Sequence[bytes], sources: Sequence[Sequence[bytes]]) -> float:
    """A new text beside sources whose keys are kept."""
    kept = [Source(Text(lines)) for lines in sources]
    return _clock(lambda: carry(Text([]), Text(new), kept))
