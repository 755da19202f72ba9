"""The output of `git blame` for programs: read, and written with other authors.

The formats are --line-porcelain, --porcelain and --incremental (git-blame(1), "The porcelain
format").  An entry begins with `<oid> <original line> <final line> [<count>]`.  Headers may
follow, then, except with --incremental, the content after a tab.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from io import BytesIO

from gitcp.git.objects import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@dataclass(slots=True)
class BlameEntry:
    """A line of the file, or with --incremental `count` of them.

    oid: the commit, zeros for an uncommitted line.  orig: the line's number in path at that commit;
    final: its number in the file.  path: not quoted, as it is in the headers.  count: the lines of
    a group in its first entry, else 0.  headers: as in this entry.  content: None with
    --incremental.
    """

    oid: str
    orig: int
    final: int
    count: int
    path: str
    headers: list[tuple[bytes, bytes]]
    content: bytes | None

    @property
    def is_committed(self) -> bool:
        """Whether the line is a commit's, not the worktree's."""
        return bool(self.oid.strip("0"))

    def having(self, headers: list[tuple[bytes, bytes]]) -> BlameEntry:
        """The entry with other headers."""
        return replace(self, headers=headers)

    def get_line(self, offset: int, content: bytes | None) -> BlameEntry:
        """A line of this group, by its offset, with its content."""
        count = 0
        if not offset:
            count = self.count
        return BlameEntry(
            self.oid,
            self.orig + offset,
            self.final + offset,
            count,
            self.path,
            self.headers,
            content,
        )


if TYPE_CHECKING:
    Name = tuple[bytes, bytes]  # of an author, with the mail
    # The author of a line of an entry, by its offset; None: git's own.
    Names = Callable[[BlameEntry, int], Name | None]

_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (\d+) (\d+)(?: (\d+))?")
# The last header: the path, or a mark of newer git after it.
_LAST = frozenset((b"filename", b"ignored", b"unblamable"))
_OF_PATH = _LAST | {b"previous"}


class Parsed:
    """The entries in git's output, and the text after them (--show-stats)."""

    __slots__ = ("entries", "rest")

    def __init__(self, entries: list[BlameEntry], rest: bytes) -> None:
        self.entries = entries
        self.rest = rest


def parse_porcelain(output: bytes) -> Parsed:
    """Parse the output of --porcelain or one of the other two."""
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
            BlameEntry(
                oid.decode(),
                int(orig),
                int(final),
                int(count or 0),
                paths.get(oid, ""),
                headers,
                content,
            )
        )
    return Parsed(entries, b"\n".join(lines[index:]))


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

    def take(self, parsed: Parsed) -> None:
        """Have what was parsed at once, of another format than --porcelain."""
        self.entries = parsed.entries
        self.rest = parsed.rest

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
            [entry] = parse_porcelain(data[at:start] + b"\t\n").entries
            oid = entry.oid
            more = entry.count - 1
            path = self._paths[oid] = entry.path or self._paths.get(oid, "")
            entry.path = path
            entry.content = None
            self.entries.append(entry)
            self._contents.append([])
            numbers = entry.orig + more, entry.final + more
            if more:
                self._last = b"%s %d %d\n" % (oid.encode(), *numbers)
            else:
                self._last = b"\t"
        return start

    def _take_lines(self, data: bytes, at: int) -> int:
        """Add the lines of the group that are here; return where they end, 0 if there is none."""
        last = self._find_last(data, at)
        end = 0
        if last >= 0:
            end = data.find(b"\n", last) + 1
        if end:
            self._last = b""
        else:
            start = max(data.rfind(b"\n\t", at, data.rfind(b"\n")) + 1, at)
            if data[start : start + 1] == b"\t":
                end = data.find(b"\n", start) + 1
        if end:
            self._add_lines(data[at:end])
        return end

    def _find_last(self, data: bytes, at: int) -> int:
        """Where the content of the group's last line begins, with a tab; -1 if it is not here."""
        if not data.startswith(self._last, at):
            at = data.find(b"\n" + self._last, at)  # a content that reads like a head has a tab
        if at < 0:
            return -1
        return data.find(b"\t", at)

    def _add_lines(self, text: bytes) -> None:
        """Add lines to the last group: each begins with a tab, after a head unless it is the first.
        Newer gits mark lines in between (blame.markIgnoredLines), which is left out."""
        oid = self.entries[-1].oid
        if oid not in self._heads:
            self._heads[oid] = re.compile(_REPEATED % oid.encode())
        lines = text.removeprefix(b"\t")
        self._contents[-1].append(self._heads[oid].sub(b"", lines))


def divide_group(group: BlameEntry, content: bytes) -> Iterator[BlameEntry]:
    """Yield the lines of a group, each with its headers and its content; content: of all, a newline
    after each."""
    for offset, line in enumerate(BytesIO(content)):
        yield group.get_line(offset, line[:-1])


def complete_entries(entries: list[BlameEntry]) -> list[BlameEntry]:
    """Entries of --porcelain, each with the headers that git prints once for its commit.

    Those of the path are printed for each group if the lines of a commit come from several."""
    first: dict[str, list[tuple[bytes, bytes]]] = {}
    for entry in entries:
        printed = entry.headers
        headers = first.setdefault(entry.oid, entry.headers)
        if printed and printed is not headers:
            headers = [header for header in headers if header[0] not in _OF_PATH] + printed
        entry.headers = headers
    return entries


def rewrite_entries(entries: Iterable[BlameEntry], spelled: Names) -> Iterator[bytes]:
    """Yield the lines of entries with the authors that `spelled` gives.

    If git prints the headers of a commit once, the author is repeated when it changes.  An entry of
    --incremental is split where its author changes.
    """
    last: dict[str, tuple[bytes, bytes]] = {}
    own: dict[str, tuple[bytes, bytes]] = {}
    for entry in entries:
        headers = dict(entry.headers)
        if b"author" in headers:
            own[entry.oid] = headers[b"author"], headers[b"author-mail"]
            last[entry.oid] = own[entry.oid]
        for offset, count in _split_entry(entry, spelled):
            author = spelled(entry, offset) or own[entry.oid]
            yield _format_first_line(entry, offset, count)
            has_author = b"author" in headers and not offset
            if not has_author and author != last[entry.oid]:
                yield from (b"author " + author[0], b"author-mail " + author[1])
            own_headers = {b"author": author[0], b"author-mail": author[1]}
            for key, value in entry.headers:
                if not offset or key == b"filename":
                    text = own_headers.get(key, value)
                    if text:
                        yield b"%s %s" % (key, text)
                    else:
                        yield key
            last[entry.oid] = author
        if entry.content is not None:
            yield b"\t" + entry.content


def _split_entry(entry: BlameEntry, spelled: Names) -> Iterator[tuple[int, int]]:
    """Yield (offset, count) of the runs of lines with the same author in an entry."""
    if entry.content is not None:
        yield 0, entry.count
        return
    start = 0
    for offset in range(1, entry.count + 1):
        if offset == entry.count or spelled(entry, offset) != spelled(entry, start):
            yield start, offset - start
            start = offset


def _format_first_line(entry: BlameEntry, offset: int, count: int) -> bytes:
    line = f"{entry.oid} {entry.orig + offset} {entry.final + offset}"
    if count:
        line += f" {count}"
    return line.encode()
