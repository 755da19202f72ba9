"""Show the progress of a long task in a line on standard error, if it is a terminal."""

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
    """The items, one by one, while a Counter shows how many were used."""
    counter = Counter(title)
    for number, item in enumerate(items):
        counter.show(number, len(items))
        yield item
    hide()


class Counter:
    """Shows `title: 34 % (12/35)` at a terminal, from a second after it is made, or
    GIT_PROGRESS_DELAY seconds, as git does."""

    def __init__(self, title: str) -> None:
        self._title = title
        delay = os.environ.get("GIT_PROGRESS_DELAY", "")
        seconds = int(delay) if delay.isdecimal() else _PATIENCE
        self._due = time.monotonic() + seconds if sys.stderr.isatty() else float("inf")

    def show(self, done: int, every: int) -> None:
        """Show the progress, unless it was shown just before; remove it at the end."""
        if done >= every:
            hide()
        elif time.monotonic() > self._due:
            self._due = time.monotonic() + _PAUSE
            show_line(f"{self._title}: {done * 100 // every} % ({done}/{every})")


def show_line(text: str) -> None:
    """Replace the line of progress, if there is a terminal."""
    if sys.stderr.isatty():
        _SHOWING["line"] = text
        print(_CLEAR, text, sep="", end="", file=sys.stderr, flush=True)


def hide() -> None:
    """Remove the line, before other output takes its place."""
    if _SHOWING:
        _SHOWING.clear()
        print(_CLEAR, end="", file=sys.stderr, flush=True)
