"""Parse the arguments of `gitcp blame`: git blame's, and a few more."""

from __future__ import annotations

import re
from unicodedata import category, east_asian_width

from gitcp.core import patches
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import TypedDict

    class Options(TypedDict):
        """given: git's arguments.  flags: letters or names of the options that shape the output.

        names: the arguments that are no options, revisions and the file; after `--` only the file.
        abbrev: digits of a commit's name, 0 for all, None for git's choice.  date: the format.
        """

        given: list[str]
        flags: set[str]
        names: list[str]
        abbrev: int | None
        date: str | None

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

    class BlameEntry(TypedDict):
        """A line of the file, or with --incremental `count` of them.

        oid: the commit, zeros for an uncommitted line.  orig: the line's number in path at that
        commit; final: its number in the file.  path: not quoted, as it is in the headers.  count:
        the lines of a group in its first entry, else 0.  headers: as in this entry.  content: None
        with --incremental.
        """

        oid: str
        orig: int
        final: int
        count: int
        path: str
        headers: list[tuple[bytes, bytes]]
        content: bytes | None

    # The author and mail of a line of an entry, by its offset; None: git's own.
    Names = Callable[[BlameEntry, int], tuple[bytes, bytes] | None]

OURS = ("json", "mark-unknown", "coarse")
_LONG = {"show-name": "f", "show-number": "n", "porcelain": "p", "show-email": "e"}
_NAMED = ("line-porcelain", "score-debug", "color-lines", "color-by-age", "reverse")
_FLAGS = "bfnpctlsew"  # short options without a value; S and L have one
_NEXT = """--ignore-rev --ignore-revs-file --contents --since --after --until --before --date
--encoding --max-count --diff-algorithm""".split()


def parse_arguments(argv: Sequence[str]) -> Options:
    """Parse argv as git blame does, without refusing anything: git refuses what is wrong.

    gitcp's own options are in `flags` and not in `given`.  So is --progress, which git refuses
    together with a porcelain format.
    """
    options: Options = {"given": [], "flags": set(), "names": [], "abbrev": None, "date": None}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            options["given"] += [word, *words]
            options["names"] = words
            break
        if word.startswith("--"):
            _parse_long(options, word, words)
        else:
            options["given"].append(word)
            if word.startswith("-") and len(word) > 1:
                _parse_short(options, word[1:], words)
            else:
                options["names"].append(word)
    return options


def ask_file(path: str, revision: str, *words: str) -> Options:
    """The arguments that blame a file in a revision ("": in the worktree), with further options.

    path and revision may come from anywhere.  Raises Error for a revision that git would take as an
    option, and for NUL.
    """
    if revision.startswith("-") or "\0" in revision:
        raise Error(f"bad revision '{revision}'")
    if "\0" in path:
        raise Error(f"no such path '{path}'")
    return parse_arguments([*words, *([revision] if revision else []), "--", path])


def choose_format(options: Options) -> str:
    """The requested format for programs, '' for the table."""
    forms = {"incremental": "incremental", "line-porcelain": "line-porcelain", "p": "porcelain"}
    flags = options["flags"]
    return "" if "json" in flags else next((f for flag, f in forms.items() if flag in flags), "")


def can_find_moved_lines(options: Options) -> bool:
    """Whether an option lets git blame a line on a commit that did not add its text there: a moved
    or copied line, or one of an ignored revision."""
    words = [word for word in options["given"] if word.startswith("-")]
    short = any(set(word) & {"M", "C"} for word in words if not word.startswith("--"))
    return short or any(word.startswith("--ig") for word in words)


def _parse_long(options: Options, word: str, words: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    wanted = not name.startswith("no-")
    flag = _LONG.get(name.removeprefix("no-"), name.removeprefix("no-"))
    if flag in OURS and not equals:
        options["flags"].add(flag)
        return
    if flag in ("incremental", "progress"):
        (options["flags"].add if wanted else options["flags"].discard)(flag)
        return
    options["given"].append(word)
    if flag in _NAMED or flag in _LONG.values():
        (options["flags"].add if wanted else options["flags"].discard)(flag)
    elif name == "abbrev":
        options["abbrev"] = int(value) if value.isdecimal() else None
    elif name == "no-abbrev":
        options["abbrev"] = 0
    elif name == "date" and equals:
        options["date"] = value
    elif word in _NEXT and words:
        options["date"] = words[0] if name == "date" else options["date"]
        options["given"].append(words.pop(0))


def _parse_short(options: Options, letters: str, words: list[str]) -> None:
    for index, letter in enumerate(letters):
        if letter in _FLAGS:
            options["flags"].add(letter)
            continue
        if letter in "SL" and index + 1 == len(letters) and words:
            options["given"].append(words.pop(0))
        return


# Format the table of `git blame` with other authors.
#
# All other bytes are as git's builtin/blame.c prints them.


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


# Parse the output of `git blame` for programs, and write it with other authors.
#
# The formats are --line-porcelain, --porcelain and --incremental (git-blame(1), "The porcelain
# format").  An entry begins with `<oid> <original line> <final line> [<count>]`.  Headers may
# follow, then, except with --incremental, the content after a tab.
_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (\d+) (\d+)(?: (\d+))?")
# The last header: the path, or a mark of newer git after it.
_LAST = frozenset((b"filename", b"ignored", b"unblamable"))


def parse_porcelain(output: bytes) -> tuple[list[BlameEntry], bytes]:
    """The entries in git's output, and the text after them (--show-stats)."""
    lines = output.split(b"\n")
    last = len(lines) - 1
    entries: list[BlameEntry] = []
    paths: dict[bytes, str] = {}
    index = 0
    while index < last and (head := _HEAD.fullmatch(lines[index])):
        index += 1
        oid, orig, final, count = head.groups()
        headers: list[tuple[bytes, bytes]] = []
        while (
            index < last
            and not lines[index].startswith(b"\t")
            and not _HEAD.fullmatch(lines[index])
        ):
            key, _, value = lines[index].partition(b" ")
            headers.append((key, value))
            index += 1
            if key == b"filename":
                paths[oid] = patches.unquote_name(value).decode("utf-8", "surrogateescape")
            if key in _LAST and lines[index] not in _LAST:
                break
        content = lines[index][1:] if index < last and lines[index].startswith(b"\t") else None
        index += content is not None
        entries.append(
            {
                "oid": oid.decode(),
                "orig": int(orig),
                "final": int(final),
                "count": int(count or 0),
                "path": paths.get(oid, ""),
                "headers": headers,
                "content": content,
            }
        )
    return entries, b"\n".join(lines[index:])


def complete_entries(entries: list[BlameEntry]) -> list[BlameEntry]:
    """Entries of --porcelain, each with the headers that git prints once for its commit."""
    headers: dict[str, list[tuple[bytes, bytes]]] = {}
    for entry in entries:
        entry["headers"] = headers.setdefault(entry["oid"], entry["headers"])
    return entries


def map_headers(entries: Iterable[BlameEntry]) -> dict[str, dict[bytes, bytes]]:
    """The headers of each commit of complete_entries() entries, by oid."""
    headers: dict[str, dict[bytes, bytes]] = {}
    for entry in entries:
        if entry["oid"] not in headers:
            headers[entry["oid"]] = dict(entry["headers"])
    return headers


def rewrite_entries(entries: list[BlameEntry], spelled: Names) -> Iterator[bytes]:
    """Yield the lines of entries with the authors that `spelled` gives.

    If git prints the headers of a commit once, the author is repeated when it changes.  An entry of
    --incremental is split where its author changes.
    """
    last: dict[str, tuple[bytes, bytes]] = {}
    own: dict[str, tuple[bytes, bytes]] = {}
    for entry in entries:
        headers = dict(entry["headers"])
        if b"author" in headers:
            own[entry["oid"]] = headers[b"author"], headers[b"author-mail"]
            last[entry["oid"]] = own[entry["oid"]]
        for offset, count in _split_entry(entry, spelled):
            author = spelled(entry, offset) or own[entry["oid"]]
            yield _format_first_line(entry, offset, count)
            has_author = b"author" in headers and not offset
            if not has_author and author != last[entry["oid"]]:
                yield from (b"author " + author[0], b"author-mail " + author[1])
            own_headers = {b"author": author[0], b"author-mail": author[1]}
            for key, value in entry["headers"]:
                if not offset or key == b"filename":
                    text = own_headers.get(key, value)
                    yield b"%s %s" % (key, text) if text else key
            last[entry["oid"]] = author
        if entry["content"] is not None:
            yield b"\t" + entry["content"]


def _split_entry(entry: BlameEntry, spelled: Names) -> Iterator[tuple[int, int]]:
    """Yield (offset, count) of the runs of lines with the same author in an entry."""
    if entry["content"] is not None:
        yield 0, entry["count"]
        return
    start = 0
    for offset in range(1, entry["count"] + 1):
        if offset == entry["count"] or spelled(entry, offset) != spelled(entry, start):
            yield start, offset - start
            start = offset


def _format_first_line(entry: BlameEntry, offset: int, count: int) -> bytes:
    words = [entry["oid"], str(entry["orig"] + offset), str(entry["final"] + offset)]
    return " ".join([*words, str(count)] if count else words).encode()
