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
    """A line in rows of at most size cells, those after the first indented more than that.

    A row ends between words; only a word that is longer than a row is cut.
    """
    if sum(cells(text.expandtabs(4)) for text, _ in line) <= size:
        yield line
        return
    start = "".join(text for text, _ in line)
    indent = min(len(start) - len(start.lstrip(" ")) + _INDENT, size // 2)
    row: Line = []
    taken = margin = 0
    for text, colour in line:
        for word in _WORDS.findall(text.expandtabs(4)):
            part = word
            if taken > margin and taken + cells(part) > size:
                last, its = row[-1]
                yield [*row[:-1], (last.rstrip(), its)]
                row, part = [(" " * indent, "")], part.lstrip()
                taken = margin = indent
            while taken + cells(part) > size:
                begin, _ = clipped(part, size - taken)
                yield [*row, (begin, colour)]
                row, part = [(" " * indent, "")], part[len(begin) :]
                taken = margin = indent
            row.append((part, colour))
            taken += cells(part)
    yield row
