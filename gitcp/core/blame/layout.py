"""Format the table of `git blame` with other authors.

All other bytes are as git's builtin/blame.c prints them.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import TypedDict

    class Row(TypedDict):
        """A line of the table.  boundary: it may be older than the range."""

        oid: str
        orig: int
        final: int
        path: bytes
        boundary: bool
        name: bytes
        date: bytes
        content: bytes


def format_table(
    rows: Sequence[Row],
    flags: Collection[str],
    abbrev: int,
    path: bytes,
    margins: Sequence[tuple[bytes, bytes]] | None = None,
) -> Iterator[bytes]:
    """The lines of the table, each with its newline.

    flags: letters of git blame's options (b c f n l).  abbrev: digits of a commit's name.  path:
    of the file; paths are shown if a line comes from another one.  margins: git's own text before
    ` (`, and before the content, of each line, for options that this module does not format.
    """
    show_path = "f" in flags or any(row["path"] != path for row in rows)
    sizes = {
        "path": max((len(row["path"]) for row in rows), default=0) if show_path else 0,
        "orig": _count_digits(row["orig"] for row in rows) if "n" in flags else 0,
        "final": _count_digits(row["final"] for row in rows),
        "name": max((count_columns(row["name"]) for row in rows), default=0),
    }
    for number, row in enumerate(rows):
        if "c" in flags:
            yield _format_compatible(row, flags, abbrev)
            continue
        head, gap = margins[number] if margins else (_format_head(row, flags, abbrev, sizes), b"")
        pad = b" " * (sizes["name"] - count_columns(row["name"]))
        line = b"%s (%s%s %10s" % (head, row["name"], pad, row["date"])
        yield line + b" %*d) %s%s\n" % (sizes["final"], row["final"], gap, row["content"])


def count_columns(name: bytes) -> int:
    """The columns of a name as git counts them: by code point, or by byte if it is not UTF-8."""
    if name.isascii():
        return len(name)
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return len(name)
    return sum(_count_char_columns(char) for char in text)


def _count_char_columns(char: str) -> int:
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _format_head(row: Row, flags: Collection[str], abbrev: int, sizes: dict[str, int]) -> bytes:
    head = _format_commit(row, flags, abbrev)
    if sizes["path"]:
        head += b" " + row["path"].ljust(sizes["path"])
    if sizes["orig"]:
        head += b" %*d" % (sizes["orig"], row["orig"])
    return head


def _format_commit(row: Row, flags: Collection[str], abbrev: int) -> bytes:
    length = len(row["oid"]) if "l" in flags else abbrev
    name = row["oid"].encode()
    if row["boundary"] and "b" in flags:
        return b" " * length
    if row["boundary"] and "c" not in flags:
        return b"^" + name[: length - 1]
    return name[:length]


def _format_compatible(row: Row, flags: Collection[str], abbrev: int) -> bytes:
    """A line as git-annotate(1) prints it."""
    start = _format_commit(row, flags, abbrev)
    return b"%s\t(%10s\t%10s\t%d)%s\n" % (
        start,
        row["name"],
        row["date"],
        row["final"],
        row["content"],
    )


def _count_digits(numbers: Iterator[int]) -> int:
    return len(str(max(numbers, default=0)))


# The longest date in each of git's formats, without templates of strftime.
_DATES = {
    "rfc": "Thu, 19 Oct 2006 16:00:04 -0700",
    "iso-strict": "2006-10-19T16:00:04-07:00",
    "iso": "2006-10-19 16:00:04 -0700",
    "raw": "1161298804 -0700",
    "unix": "1161298804",
    "short": "2006-10-19",
    "relative": "4 years, 11 months ago",
    "human": "Thu Oct 19 16:00",
    "default": "Thu Oct 19 16:00:04 2006 -0700",
}
_ALIASES = {
    "iso8601": "iso",
    "iso8601-strict": "iso-strict",
    "rfc2822": "rfc",
    "normal": "default",
    "local": "default",
}


def get_date_width(mode: str) -> int | None:
    """The columns of dates in a format of git's --date; None for a template."""
    name = mode.removesuffix("-local")
    text = _DATES.get(_ALIASES.get(name, name))
    return len(text) if text else None
