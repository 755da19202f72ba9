"""Format text for a terminal: colours, ages, times, single lines."""

from __future__ import annotations

import time

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")
_CODES = {"bold": 1, "dim": 2} | {name: 31 + n for n, name in enumerate(_COLOURS)}
_AGES = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))


def paint(text: str, colour: str) -> str:
    """text in a colour of _CODES."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if text else text


def format_age(seconds: float) -> str:
    """An age in its largest unit: `just now`, `5m ago`, `3h ago`, `2d ago`, `4mo ago`."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def format_since(then: float) -> str:
    """The age of a time in seconds since 1970; `never` for 0."""
    return format_age(time.time() - then) if then else "never"


def format_time(seconds: float) -> str:
    """A local time, as in `2026-11-22 09:30`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
