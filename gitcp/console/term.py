"""Format text for a terminal: colours, ages, single lines."""

from __future__ import annotations

_CODES = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
}
_AGES = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))


def paint(text: str, colour: str, on: bool) -> str:
    """text in a colour of _CODES when on, as cli.needs_colour(stream) decides."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if on and text else text


def format_age(seconds: float) -> str:
    """An age in its largest unit: `just now`, `5m ago`, `3h ago`, `2d ago`, `4mo ago`."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def clean(text: str) -> str:
    """text on one line, without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in join_lines(text))


def join_lines(text: str) -> str:
    return " ".join(text.split())
