"""Print lines as they come: coloured, folded, and through the person's pager."""

from __future__ import annotations

import os
import sys

from gitcp.console import cli, shell, term
from gitcp.core.render import spans, wrapping
from gitcp.errors import Error
from gitcp.repo import Repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.core.render.spans import Line


def page_lines(lines: Iterable[Line], paged: bool = True, folded: bool = True) -> None:
    """Print lines, drawn by choose_drawing()."""
    page_texts(choose_drawing(folded)(lines), paged)


def choose_drawing(folded: bool = True) -> Callable[[Iterable[Line]], Iterator[str]]:
    """The function that makes text of lines: escaped, folded to the terminal's width, and coloured
    by git's color.ui."""

    def paint_part(part: str, colour: str) -> str:
        safe = spans.escape_part(part)
        return term.paint(safe, colour) if colour else safe

    def fold_rows(lines: Iterable[Line]) -> Iterable[Line]:
        if not width:
            return lines
        return (row for line in lines for row in wrapping.wrap_line(line, width))

    width = cli.read_width() if folded else 0
    if cli.needs_colour(sys.stdout, _read_settings()("color.ui")):
        return lambda lines: spans.paint_lines(fold_rows(lines), paint_part)
    escape = spans.escape_part
    return lambda lines: (f"{escape(text)}\n" for text in spans.list_texts(fold_rows(lines)))


def page_texts(texts: Iterable[str], paged: bool = True) -> None:
    """Print text, at a terminal through the pager of git's configuration (core.pager,
    pager.<command>)."""
    if paged and sys.stdout.isatty():
        command, settings = os.path.basename(sys.argv[0]).removeprefix("gitcp-"), _read_settings()
        shell.page_text(texts, settings("core.pager"), settings(f"pager.{command}"))
    else:
        shell.write(texts)


def _read_settings() -> Callable[[str], str]:
    """The function that reads a key of git's configuration; '' outside a repository."""
    try:
        return Repo.find_here().config.get
    except Error:
        return lambda _: ""
