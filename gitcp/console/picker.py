"""A choice at the terminal: a list to move in, with what the marked entry would do.

prompt_toolkit draws it where it is installed (`pip install prompt_toolkit`) and the terminal
can move its cursor; anywhere else the entries are numbered.
"""

from __future__ import annotations

import os
import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from prompt_toolkit.formatted_text import StyleAndTextTuples

_ROWS = 10


def choose(entries: Sequence[str], preview_of: Callable[[int], str]) -> int | None:
    """The number of the chosen entry, from 0; None when the person wants none of them.

    preview_of(number) is the text below the list while an entry is marked.
    """
    if os.environ.get("TERM", "dumb") != "dumb" and sys.stdout.isatty():
        try:
            return _drawn(entries, preview_of)
        except ImportError:
            pass
    return numbered(entries)


def numbered(entries: Sequence[str], default: int | None = None) -> int | None:
    """As choose(), by the entries' numbers; a mere Enter is the default."""
    for number, entry in enumerate(entries, 1):
        print(f"{number:3}  {entry}")
    while True:
        empty = "none" if default is None else default + 1
        answer = cli.answered(f"which one? (number, empty for {empty}) ")
        if not answer:
            return default
        if answer.isdecimal() and 1 <= int(answer) <= len(entries):
            return int(answer) - 1
        print(f"not a number from 1 to {len(entries)}: '{answer}'")


def _drawn(entries: Sequence[str], preview_of: Callable[[int], str]) -> int | None:
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import HSplit, Layout, Window
    from prompt_toolkit.layout.controls import FormattedTextControl

    marked = [0]

    def rows() -> StyleAndTextTuples:
        first = max(0, min(marked[0] - _ROWS // 2, len(entries) - _ROWS))
        part = range(first, min(first + _ROWS, len(entries)))
        return [("reverse" if n == marked[0] else "", f" {entries[n]}\n") for n in part]

    def preview() -> StyleAndTextTuples:
        return [("", preview_of(marked[0]))]

    height = min(_ROWS, len(entries))
    head = Window(FormattedTextControl("arrows: move, enter: choose, q: leave"), height=1)
    body = Window(FormattedTextControl(rows), height=height)
    below = Window(FormattedTextControl(preview))
    line = Window(char="-", height=1)
    app: Application[int | None] = Application(
        layout=Layout(HSplit([head, body, line, below])),
        key_bindings=_keys(marked, len(entries)),
        full_screen=True,
    )
    return app.run()


def _keys(marked: list[int], count: int) -> Any:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    def to(step: int) -> Callable[[Any], None]:
        def move(_: Any) -> None:
            marked[0] = max(0, min(count - 1, marked[0] + step))

        return move

    for name, step in (("up", -1), ("k", -1), ("down", 1), ("j", 1), ("pageup", -_ROWS)):
        keys.add(name)(to(step))
    keys.add("pagedown")(to(_ROWS))
    keys.add("enter")(lambda event: event.app.exit(result=marked[0]))
    for name in ("q", "escape", "c-c", "c-d"):
        keys.add(name)(lambda event: event.app.exit(result=None))
    return keys
