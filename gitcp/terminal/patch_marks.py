"""Put a mark of its author before each line that a patch adds."""

from __future__ import annotations

from gitcp import git
from gitcp.errors import Error
from gitcp.git import decode_name
from gitcp.lines.patch_authors import PatchAuthors
from gitcp.lines.patch_text import strip_codes
from gitcp.text import spans, term
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.git.repo import Repo
    from gitcp.lines.patch_authors import AddedLine
    from gitcp.lines.patch_text import PatchPart
    from gitcp.text.record_types import Record

    Found = dict[int, AddedLine] | None  # the added lines of a part by number

WIDTH = 12  # cells of a mark; a space follows it
# that are looked up together
_MOST_PARTS = 64
_MOST_ROWS = 10_000
_BLANK = b" " * (WIDTH + 1)


def mark_rows(repo: Repo, parts: Iterable[PatchPart], coloured: bool) -> Iterator[bytes]:
    """The rows of each part of a patch, together, those of hunks each with a mark; parts of which
    nothing is known are unchanged.

    coloured: whether marks have colours anyway; else they have them where the patch has.
    """
    for part, found in _find_authors(repo, parts):
        coloured = coloured or any(row.startswith(b"\x1b[") for row in part.rows)
        rows = part.rows
        if found is not None:
            rows = [_mark_row(part, n, found, coloured) for n in range(len(part.rows))]
        yield b"".join(rows)


def _mark_row(part: PatchPart, n: int, found: dict[int, AddedLine], coloured: bool) -> bytes:
    if n not in part.hunk_rows:
        return part.rows[n]
    line = found.get(part.hunk_rows[n])
    if line:
        mark = _draw_mark(line, coloured) + b" "
    else:
        mark = _BLANK
    return mark + part.rows[n]


def list_records(repo: Repo, parts: Iterable[PatchPart]) -> Iterator[Record]:
    """A record `line` for each added line whose author was looked up."""
    for part, found in _find_authors(repo, parts):
        for n, number in part.hunk_rows.items():
            if found and number in found:
                line = found[number]
                content = decode_name(strip_codes(part.rows[n]).rstrip(b"\r\n"))
                yield {
                    "type": "line",
                    "line": number,
                    "commit": line.commit,
                    "original_line": line.original_line,
                    "path": part.path,
                    **line.author,
                    "author": line.name,
                    "time": line.time,
                    "content": content[1:],
                }


def _find_authors(repo: Repo, parts: Iterable[PatchPart]) -> Iterator[tuple[PatchPart, Found]]:
    """Each part with its lines.  The first ones are looked up alone, so that a pager soon has
    something to show."""
    authors = PatchAuthors(repo)
    waiting: list[PatchPart] = []
    most = 1
    rows = 0
    for part in parts:
        waiting.append(part)
        rows += len(part.rows)
        if len(waiting) >= most or rows >= _MOST_ROWS:
            yield from _look_up(authors, waiting)
            waiting = []
            rows = 0
            most = min(most * 2, _MOST_PARTS)
    yield from _look_up(authors, waiting)


def _look_up(authors: PatchAuthors, parts: list[PatchPart]) -> Iterator[tuple[PatchPart, Found]]:
    try:
        found = authors.find(parts)
    except Error as e:  # what reads a patch gets it in any case
        git.append_trace("annotate", str(e))
        found = [None] * len(parts)
    yield from zip(parts, found, strict=True)


def _draw_mark(line: AddedLine, coloured: bool) -> bytes:
    author = line.author
    if author["who"] == "session":
        text = name_prompt(author["session_id"], author["number"])
        colour = "green"
    elif author["who"] == "person":
        text = line.name
        colour = "blue"
    else:
        text = "not recorded"
        colour = "dim"
    text = spans.pad(text, WIDTH)
    if coloured:
        text = term.paint(text, colour)
    return text.encode("utf-8", "backslashreplace")


def name_prompt(session_id: str, number: int | None) -> str:
    """A session and the number of a prompt in WIDTH cells: `5cfbd499 #2`, `5cfbd499 102`."""
    name = shorten_id(session_id)
    if number is None:
        return name
    if number < 100:
        return f"{name} #{number}"
    return f"{name} {number}"
