"""The table of `git blame` with other authors: all other bytes are as git's builtin/blame.c prints
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from unicodedata import category, east_asian_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_TOGETHER = 1 << 12  # lines


@dataclass(slots=True)
class BlameRun:
    """Lines of the table that follow one another in the commit too.

    orig, final: of the first.  count: of lines.  boundary: they may be older than the range.
    content: the lines, each with a newline.
    """

    oid: str
    orig: int
    final: int
    count: int
    path: bytes
    boundary: bool
    name: bytes
    date: bytes
    content: bytes


class _Columns:
    """The widths of the columns; 0 for one that is not shown."""

    __slots__ = ("final", "name", "orig", "path")

    def __init__(self, rows: Sequence[BlameRun], flags: Collection[str], path: bytes) -> None:
        last_orig = 0
        last_final = 0
        longest_path = 0
        is_elsewhere = False
        self.name = 0
        for row in rows:
            last_orig = max(last_orig, row.orig + row.count - 1)
            last_final = max(last_final, row.final + row.count - 1)
            longest_path = max(longest_path, len(row.path))
            is_elsewhere = is_elsewhere or row.path != path
            self.name = max(self.name, count_columns(row.name))
        self.final = len(str(last_final))
        self.path = 0
        self.orig = 0
        if "f" in flags or is_elsewhere:
            self.path = longest_path
        if "n" in flags:
            self.orig = len(str(last_orig))


def format_table(
    rows: Sequence[BlameRun],
    flags: Collection[str],
    abbrev: int,
    path: bytes,
    margins: Sequence[tuple[bytes, bytes]] | None = None,
) -> Iterator[bytes]:
    """The lines of the table, each with its newline, some in one piece.

    flags: letters of git blame's options (b c f n l).  abbrev: digits of a commit's name.  path:
    of the file; paths are shown if a line comes from another one.  margins: git's own text before
    ` (`, and before the content, of each line, for options that this module does not format.
    """
    sizes = _Columns(rows, flags, path)
    left = iter(margins or ())
    for row in rows:
        pad = b" " * (sizes.name - count_columns(row.name))
        about = b"(%s%s %10s " % (row.name, pad, row.date)
        if sizes.orig:
            plain = b""
        else:
            plain = _format_head(row, flags, abbrev, sizes) + b" " + about
        lines = enumerate(BytesIO(row.content))
        if plain and not margins and "c" not in flags:
            # Few large pieces are written faster than many lines.
            form = b"%s%%%dd) %%s" % (plain.replace(b"%", b"%%"), sizes.final)
            first = row.final
            while True:
                some = [form % (first + n, line) for n, line in islice(lines, _TOGETHER)]
                if not some:
                    break
                yield b"".join(some)
        for offset, line in lines:
            number = row.final + offset
            if "c" in flags:
                yield _format_compatible(row, number, line, flags, abbrev)
            elif margins:
                head, gap = next(left)
                yield b"%s %s%*d) %s%s" % (head, about, sizes.final, number, gap, line)
            else:
                head = _format_head(row, flags, abbrev, sizes, offset)
                yield b"%s %s%*d) %s" % (head, about, sizes.final, number, line)


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
    if east_asian_width(char) in "WF":
        return 2
    return 1


def _format_head(
    row: BlameRun, flags: Collection[str], abbrev: int, sizes: _Columns, offset: int = 0
) -> bytes:
    head = _format_commit(row, flags, abbrev)
    if sizes.path:
        head += b" " + row.path.ljust(sizes.path)
    if sizes.orig:
        head += b" %*d" % (sizes.orig, row.orig + offset)
    return head


def _format_commit(row: BlameRun, flags: Collection[str], abbrev: int) -> bytes:
    length = abbrev
    if "l" in flags:
        length = len(row.oid)
    name = row.oid.encode()
    if row.boundary and "b" in flags:
        return b" " * length
    if row.boundary and "c" not in flags:
        return b"^" + name[: length - 1]
    return name[:length]


def _format_compatible(
    row: BlameRun, number: int, line: bytes, flags: Collection[str], abbrev: int
) -> bytes:
    """A line as git-annotate(1) prints it."""
    start = _format_commit(row, flags, abbrev)
    return b"%s\t(%10s\t%10s\t%d)%s" % (start, row.name, row.date, number, line)


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
    if text:
        return len(text)
    return None
