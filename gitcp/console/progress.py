"""Show the progress of a long task in a line on standard error, if that is a terminal."""

from __future__ import annotations

import os
import sys
import time

from gitcp import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")

_PATIENCE, _PAUSE = 1, 0.1  # seconds before anything is shown, and between two showings
_CLEAR = "\r\033[K"
_SHOWING: dict[str, str] = memory.get_table("progress")  # the line on the terminal


def iterate_shown(title: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items, one by one, and meanwhile what Counter shows of them."""
    counter = Counter(title)
    for number, item in enumerate(items):
        counter.show(number, len(items))
        yield item
    hide()


class Counter:
    """`title: 34 % (12/35)`, where there is a terminal, from a second after it is made, or as long
    as GIT_PROGRESS_DELAY says, which is git's."""

    def __init__(self, title: str) -> None:
        self._title = title
        delay = os.environ.get("GIT_PROGRESS_DELAY", "")
        seconds = int(delay) if delay.isdecimal() else _PATIENCE
        self._due = time.monotonic() + seconds if sys.stderr.isatty() else float("inf")

    def show(self, done: int, every: int) -> None:
        """Show how much is done, unless it was shown just before; nothing once all is."""
        if done >= every:
            hide()
        elif time.monotonic() > self._due:
            self._due = time.monotonic() + _PAUSE
            _SHOWING["line"] = f"{self._title}: {done * 100 // every} % ({done}/{every})"
            print(_CLEAR, _SHOWING["line"], sep="", end="", file=sys.stderr, flush=True)


def hide() -> None:
    """Take the line away, before something is written where it stands."""
    if _SHOWING:
        _SHOWING.clear()
        print(_CLEAR, end="", file=sys.stderr, flush=True)
