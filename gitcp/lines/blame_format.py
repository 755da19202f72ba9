"""Parse the arguments of `gitcp blame` and the output of `git blame`, and write it with other
authors."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import islice
from unicodedata import category, east_asian_width

from gitcp.errors import Error
from gitcp.git.objects import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Any, TypedDict

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
_TOGETHER = 1 << 12  # lines
_NAMED = ("line-porcelain", "score-debug", "color-lines", "color-by-age", "reverse")
_FLAGS = "bfnpctlsew"  # short options without a value; S and L have one
_NEXT = """--ignore-rev --ignore-revs-file --contents --since --after --until --before --date
--encoding --max-count --diff-algorithm""".split()


def parse_arguments(argv: Sequence[str]) -> Options:
    """Parse argv as git blame does, without refusing anything: git refuses what is wrong.

    gitcp's own options are in `flags` and not in `given`.  So are --incremental and
    --line-porcelain, of which choose_format() chooses, and --progress, which git refuses together
    with a porcelain format.
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
    if "json" in flags:
        return ""
    return next((f for flag, f in forms.items() if flag in flags), "")


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
    if flag in ("incremental", "line-porcelain", "progress"):
        (options["flags"].add if wanted else options["flags"].discard)(flag)
        return
    options["given"].append(word)
    if flag in _NAMED or flag in _LONG.values():
        (options["flags"].add if wanted else options["flags"].discard)(flag)
    elif name == "abbrev":
        if value.isdecimal():
            options["abbrev"] = int(value)
        else:
            options["abbrev"] = None
    elif name == "no-abbrev":
        options["abbrev"] = 0
    elif name == "date" and equals:
        options["date"] = value
    elif word in _NEXT and words:
        if name == "date":
            options["date"] = words[0]
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
    """The lines of the table, each with its newline, some in one piece.

    flags: letters of git blame's options (b c f n l).  abbrev: digits of a commit's name.  path:
    of the file; paths are shown if a line comes from another one.  margins: git's own text before
    ` (`, and before the content, of each line, for options that this module does not format.
    """
    sizes = _measure_columns(rows, flags, path)
    left = iter(margins or ())
    for row in rows:
        pad = b" " * (sizes["name"] - count_columns(row["name"]))
        about = b"(%s%s %10s " % (row["name"], pad, row["date"])
        if sizes["orig"]:
            plain = b""
        else:
            plain = _format_head(row, flags, abbrev, sizes) + b" " + about
        lines = enumerate(BytesIO(row["content"]))
        if plain and not margins and "c" not in flags:
            # Few large pieces are written faster than many lines.
            form = b"%s%%%dd) %%s" % (plain.replace(b"%", b"%%"), sizes["final"])
            first = row["final"]
            while True:
                some = [form % (first + n, line) for n, line in islice(lines, _TOGETHER)]
                if not some:
                    break
                yield b"".join(some)
        for offset, line in lines:
            number = row["final"] + offset
            if "c" in flags:
                yield _format_compatible(row, number, line, flags, abbrev)
            elif margins:
                head, gap = next(left)
                yield b"%s %s%*d) %s%s" % (head, about, sizes["final"], number, gap, line)
            else:
                head = _format_head(row, flags, abbrev, sizes, offset)
                yield b"%s %s%*d) %s" % (head, about, sizes["final"], number, line)


def _measure_columns(rows: Sequence[Row], flags: Collection[str], path: bytes) -> dict[str, int]:
    """The widths of the columns; 0 for one that is not shown."""
    show_path = "f" in flags or any(row["path"] != path for row in rows)
    last = max((row["final"] + row["count"] - 1 for row in rows), default=0)
    return {
        "path": max((len(row["path"]) for row in rows), default=0) if show_path else 0,
        "orig": len(str(max(r["orig"] + r["count"] - 1 for r in rows))) if "n" in flags else 0,
        "final": len(str(last)),
        "name": max((count_columns(row["name"]) for row in rows), default=0),
    }


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


def _format_head(
    row: Row, flags: Collection[str], abbrev: int, sizes: dict[str, int], offset: int = 0
) -> bytes:
    head = _format_commit(row, flags, abbrev)
    if sizes["path"]:
        head += b" " + row["path"].ljust(sizes["path"])
    if sizes["orig"]:
        head += b" %*d" % (sizes["orig"], row["orig"] + offset)
    return head


def _format_commit(row: Row, flags: Collection[str], abbrev: int) -> bytes:
    length = len(row["oid"]) if "l" in flags else abbrev
    name = row["oid"].encode()
    if row["boundary"] and "b" in flags:
        return b" " * length
    if row["boundary"] and "c" not in flags:
        return b"^" + name[: length - 1]
    return name[:length]


def _format_compatible(
    row: Row, number: int, line: bytes, flags: Collection[str], abbrev: int
) -> bytes:
    """A line as git-annotate(1) prints it."""
    start = _format_commit(row, flags, abbrev)
    return b"%s\t(%10s\t%10s\t%d)%s" % (start, row["name"], row["date"], number, line)


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
_OF_PATH = _LAST | {b"previous"}


def parse_porcelain(output: bytes) -> tuple[list[BlameEntry], bytes]:
    """The entries in git's output, and the text after them (--show-stats)."""
    lines = output.split(b"\n")
    last = len(lines) - 1
    entries: list[BlameEntry] = []
    paths: dict[bytes, str] = {}
    index = 0
    while index < last:
        head = _HEAD.fullmatch(lines[index])
        if not head:
            break
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
        content = None
        if index < last and lines[index].startswith(b"\t"):
            content = lines[index][1:]
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


_PART = 1 << 20  # bytes that are parsed together
_REPEATED = rb"%s \d+ \d+\n(?:ignored\n|unblamable\n)*\t"  # before a line, but a group's first


class Groups:
    """The output of --porcelain, which is fed in pieces; little is kept for a line.

    entries: one for each group of lines, without its content.  contents: the lines of each, a
    newline after each.  rest: what follows them, after finish().
    """

    def __init__(self) -> None:
        self.entries: list[BlameEntry] = []
        self._contents: list[list[bytes]] = []
        self._paths: dict[str, str] = {}  # commit -> the path that git printed last for it
        self._heads: dict[str, re.Pattern[bytes]] = {}  # commit -> a line that repeats it
        self._last = b""  # what is before the group's last line; empty between groups
        self.rest = b""

    @property
    def contents(self) -> list[bytes]:
        """The content of each group."""
        return [b"".join(parts) for parts in self._contents]

    def list_lines(self) -> Iterator[BlameEntry]:
        """Yield an entry for each line, with its content."""
        for group, parts in zip(self.entries, self._contents, strict=True):
            yield from divide_group(group, b"".join(parts))

    def read(self, chunks: Iterable[bytes]) -> None:
        """Take the whole output."""
        parts = []
        size = 0
        for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > _PART:
                self._feed(b"".join(parts))
                parts = []
                size = 0
        self._feed(b"".join(parts))

    def _feed(self, data: bytes) -> None:
        data = self.rest + data
        at = 0
        while True:
            if self._last:
                end = self._take_lines(data, at)
            else:
                end = self._begin_group(data, at)
            if end <= at:
                break
            at = end
        self.rest = data[at:]

    def _begin_group(self, data: bytes, at: int) -> int:
        """Read the headers of a group; return where its lines begin, 0 if not all is here."""
        start = 0
        if _HEAD.match(data, at):
            start = data.find(b"\n\t", at) + 1
        if start:
            (entry,), _ = parse_porcelain(data[at:start] + b"\t\n")
            oid = entry["oid"]
            more = entry["count"] - 1
            path = self._paths[oid] = entry["path"] or self._paths.get(oid, "")
            self.entries.append({**entry, "path": path, "content": None})
            self._contents.append([])
            numbers = entry["orig"] + more, entry["final"] + more
            if more:
                self._last = b"%s %d %d\n" % (oid.encode(), *numbers)
            else:
                self._last = b"\t"
        return start

    def _take_lines(self, data: bytes, at: int) -> int:
        """Add the lines of the group that are here; return where they end, 0 if there is none."""
        last = self._find_last(data, at)
        end = data.find(b"\n", last) + 1 if last >= 0 else 0
        if end:
            self._last = b""
        else:
            start = max(data.rfind(b"\n\t", at, data.rfind(b"\n")) + 1, at)
            end = 0
            if data[start : start + 1] == b"\t":
                end = data.find(b"\n", start) + 1
        if end:
            self._add_lines(data[at:end])
        return end

    def _find_last(self, data: bytes, at: int) -> int:
        """Where the content of the group's last line begins, with a tab; -1 if it is not here."""
        if not data.startswith(self._last, at):
            at = data.find(b"\n" + self._last, at)  # a content that reads like a head has a tab
        return data.find(b"\t", at) if at >= 0 else -1

    def _add_lines(self, text: bytes) -> None:
        """Add lines to the last group: each begins with a tab, after a head unless it is the first.
        Newer gits mark lines in between (blame.markIgnoredLines), which is left out."""
        oid = self.entries[-1]["oid"]
        if oid not in self._heads:
            self._heads[oid] = re.compile(_REPEATED % oid.encode())
        lines = text[1:] if text.startswith(b"\t") else text
        self._contents[-1].append(self._heads[oid].sub(b"", lines))


def divide_group(group: BlameEntry, content: bytes) -> Iterator[BlameEntry]:
    """Yield the lines of a group, each with its headers and its content; content: of all, a newline
    after each."""
    for n, line in enumerate(BytesIO(content)):
        count = 0 if n else group["count"]
        at: Any = {"orig": group["orig"] + n, "final": group["final"] + n, "count": count}
        yield {**group, **at, "content": line[:-1]}


def complete_entries(entries: list[BlameEntry]) -> list[BlameEntry]:
    """Entries of --porcelain, each with the headers that git prints once for its commit.

    Those of the path are printed for each group if the lines of a commit come from several."""
    first: dict[str, list[tuple[bytes, bytes]]] = {}
    for entry in entries:
        printed = entry["headers"]
        headers = first.setdefault(entry["oid"], entry["headers"])
        if printed and printed is not headers:
            headers = [header for header in headers if header[0] not in _OF_PATH] + printed
        entry["headers"] = headers
    return entries


def rewrite_entries(entries: Iterable[BlameEntry], spelled: Names) -> Iterator[bytes]:
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
