"""Fit text to a width, and wrap it between words."""

from __future__ import annotations

import re

from gitcp.core.render.spans import clip, count_cells, escape_part, join_words, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.render.spans import Line

_INDENT = 2
_WORDS = re.compile(r"\s*\S+|\s+$")


def fit_words(text: str, size: int) -> str:
    """text on one line in at most size cells, `…` in place of words that are left out; a word is
    cut only if it is the first and too long."""
    line, cut = join_words(text), shorten(text, size)
    if cut == line:
        return line
    kept = cut.removesuffix("…")
    if line[len(kept)] != " " and " " in kept:
        kept = kept.rpartition(" ")[0]
    return kept.rstrip() + "…"


def wrap_line(line: Line, size: int) -> Iterator[Line]:
    """A line in rows of at most size cells, those after the first indented more than that.

    A row ends between words; only a word that is longer than a row is cut.
    """
    line = [(escape_part(text).expandtabs(4), colour) for text, colour in line]
    if sum(count_cells(text) for text, _ in line) <= size:
        yield line
        return
    start = "".join(text for text, _ in line)
    indent = min(len(start) - len(start.lstrip(" ")) + _INDENT, size // 2)
    row: Line = []
    taken = margin = 0
    for text, colour in line:
        for word in _WORDS.findall(text):
            part = word
            if taken > margin and taken + count_cells(part) > size:
                last, last_colour = row[-1]
                yield [*row[:-1], (last.rstrip(), last_colour)]
                row, part = [(" " * indent, "")], part.lstrip()
                taken = margin = indent
            while taken + count_cells(part) > size:
                begin, _ = clip(part, size - taken)
                yield [*row, (begin, colour)]
                row, part = [(" " * indent, "")], part[len(begin) :]
                taken = margin = indent
            row.append((part, colour))
            taken += count_cells(part)
    yield row
