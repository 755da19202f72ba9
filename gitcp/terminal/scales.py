"""Places of times on a line, and the parts of a bar."""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


WIDTH = 1000.0
_QUIET = 1800.0  # seconds: a longer pause takes no more room
_PAUSE = 4.0  # a pause takes at most the room of everything else, divided by this


class Scale:
    """Positions of times (seconds since 1970); long pauses are shortened."""

    def __init__(self, times: Iterable[float]) -> None:
        self._times = sorted(set(times)) or [0.0]
        pairs = zip(self._times, self._times[1:], strict=False)
        gaps = [min(after - before, _QUIET) for before, after in pairs]
        total = sum(gaps)
        # of the times, in seconds with shortened pauses
        x = 0.0
        self._places = [0.0]
        for gap in gaps:
            x += min(gap, max((total - gap) / _PAUSE, 1.0)) if len(gaps) > 1 else gap
            self._places.append(x)
        self._unit = WIDTH / x if x else 0.0

    def __call__(self, time: float) -> float:
        """0 to WIDTH, rounded so that a page stays small."""
        n = max(0, bisect_right(self._times, time) - 1)
        x = self._places[n]
        if n + 1 < len(self._places):
            start = self._times[n]
            end = self._times[n + 1]
            x += (self._places[n + 1] - x) * max(0.0, time - start) / (end - start)
        return round(x * self._unit, 1)


def divide_bar(counts: dict[str, int], width: float) -> list[tuple[str, float, float]]:
    """(key, x, width) of the parts of a bar, none for 0, together as wide as the bar."""
    total = sum(counts.values())
    parts = []
    x = 0.0
    for key, count in counts.items():
        if count:
            size = round(width * count / total, 1)
            parts.append((key, round(x, 1), size))
            x += size
    return parts
