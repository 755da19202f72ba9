"""How far something long has come: one line on standard error, where that is a terminal."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")

_PATIENCE, _PAUSE = 1.0, 0.1  # seconds before anything is shown, and between two showings
_CLEAR = "\r\033[K"
_showing: list[str] = []


def each(title: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items, one by one, and meanwhile `title: 34 % (12/35)` once it takes a second."""
    due = time.monotonic() + _PATIENCE if sys.stderr.isatty() else float("inf")
    for number, item in enumerate(items):
        if time.monotonic() > due:
            due = time.monotonic() + _PAUSE
            share = f"{number * 100 // len(items)} % ({number}/{len(items)})"
            _showing[:] = [f"{title}: {share}"]
            print(_CLEAR, _showing[0], sep="", end="", file=sys.stderr, flush=True)
        yield item
    hide()


def hide() -> None:
    """Take the line away, before something is written where it stands."""
    if _showing:
        _showing.clear()
        print(_CLEAR, end="", file=sys.stderr, flush=True)
