"""Text for eyes: colours, ages, aligned columns, cut to the terminal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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


def width(default: int = 80) -> int:
    """Columns of the terminal: COLUMNS, else what stdout says, else default."""
    try:
        return int(os.environ.get("COLUMNS", "")) or default
    except ValueError:
        pass
    try:
        return os.get_terminal_size(1).columns or default
    except OSError:
        return default


def paint(text: str, colour: str, on: bool) -> str:
    """text in a colour of _CODES when on, as cli.colour(stream) decides."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if on and text else text


def ago(seconds: float) -> str:
    """An age in its largest unit: `just now`, `5m ago`, `3h ago`, `2d ago`, `4mo ago`."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def clean(text: str) -> str:
    """text on one line, without what a terminal would obey instead of show."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in one_line(text))


def one_line(text: str) -> str:
    return " ".join(text.split())


def cells(text: str) -> int:
    """How many cells of a terminal text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(c) or c == "\u200d" else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def cut(text: str, room: int) -> str:
    """text in at most room cells, `…` for what is left out."""
    if cells(text) <= room:
        return text
    while text and cells(text) > room - 1:
        text = text[:-1]
    return text + "…" if room > 0 else ""


def columns(rows: Sequence[Sequence[str]], room: int | None = None, gap: int = 2) -> list[str]:
    """Lines of left-aligned columns; the last column is cut so that a line fits room cells.

    Each cell is made safe to show (clean); rows may differ in length.
    """
    table = [[clean(c) for c in row] for row in rows]
    sizes = [0] * max((len(row) for row in table), default=0)
    for row in table:
        for n, cell in enumerate(row[:-1]):
            sizes[n] = max(sizes[n], cells(cell))
    lines = []
    for row in table:
        parts = [cell + " " * (sizes[n] - cells(cell) + gap) for n, cell in enumerate(row[:-1])]
        start = "".join(parts)
        last = row[-1] if row else ""
        if room is not None:
            last = cut(last, max(0, room - cells(start)))
        lines.append((start + last).rstrip())
    return lines
