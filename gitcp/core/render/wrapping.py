"""Text fitted to a width, cut and broken between words."""

from __future__ import annotations

import re

from gitcp.core.render.spans import cells, clipped, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.render.spans import Line

_INDENT = 2
_WORDS = re.compile(r"\s*\S+|\s+$")


def fitted(text: str, size: int) -> str:
    """text on one line in at most size cells, `…` for what is left out; only a first word that is
    longer is cut itself."""
    line, cut = " ".join(text.split()), short(text, size)
    if cut == line:
        return line
    kept = cut.removesuffix("…")
    if line[len(kept)] != " " and " " in kept:
        kept = kept.rpartition(" ")[0]
    return kept.rstrip() + "…"


def wrapped(line: Line, size: int) -> Iterator[Line]:
    """A line in rows of at most size cells, those after the first indented.

    A row ends between words; only a word that is longer than a row is cut.
    """
    row: Line = []
    taken = margin = 0
    for text, colour in line:
        for word in _WORDS.findall(text.expandtabs(4)):
            part = word
            if taken > margin and taken + cells(part) > size:
                yield row
                row, part = [(" " * _INDENT, "")], part.lstrip()
                taken = margin = _INDENT
            while taken + cells(part) > size:
                begin, _ = clipped(part, size - taken)
                yield [*row, (begin, colour)]
                row, part = [(" " * _INDENT, "")], part[len(begin) :]
                taken = margin = _INDENT
            row.append((part, colour))
            taken += cells(part)
    yield row
