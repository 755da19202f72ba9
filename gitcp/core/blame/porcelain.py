"""Parse the output of `git blame` for programs, and write it with other authors.

The formats are --line-porcelain, --porcelain and --incremental (git-blame(1), "The porcelain
format").  An entry begins with `<oid> <original line> <final line> [<count>]`.  Headers may follow,
then, except with --incremental, the content after a tab.
"""

from __future__ import annotations

import re

from gitcp.core.git import patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypedDict

    class Entry(TypedDict):
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
    Names = Callable[[Entry, int], tuple[bytes, bytes] | None]

_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (\d+) (\d+)(?: (\d+))?")

# The last header: the path, or a mark of newer git after it.
_LAST = frozenset((b"filename", b"ignored", b"unblamable"))


def parse(output: bytes) -> tuple[list[Entry], bytes]:
    """The entries in git's output, and the text after them (--show-stats)."""
    lines = output.split(b"\n")
    last = len(lines) - 1
    entries: list[Entry] = []
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


def complete(entries: list[Entry]) -> list[Entry]:
    """Entries of --porcelain, each with the headers that git prints once for its commit."""
    headers: dict[str, list[tuple[bytes, bytes]]] = {}
    for entry in entries:
        entry["headers"] = headers.setdefault(entry["oid"], entry["headers"])
    return entries


def map_headers(entries: Iterable[Entry]) -> dict[str, dict[bytes, bytes]]:
    """The headers of each commit of complete() entries, by oid."""
    headers: dict[str, dict[bytes, bytes]] = {}
    for entry in entries:
        if entry["oid"] not in headers:
            headers[entry["oid"]] = dict(entry["headers"])
    return headers


def rewrite_entries(entries: list[Entry], spelled: Names) -> Iterator[bytes]:
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


def _split_entry(entry: Entry, spelled: Names) -> Iterator[tuple[int, int]]:
    """Yield (offset, count) of the runs of lines with the same author in an entry."""
    if entry["content"] is not None:
        yield 0, entry["count"]
        return
    start = 0
    for offset in range(1, entry["count"] + 1):
        if offset == entry["count"] or spelled(entry, offset) != spelled(entry, start):
            yield start, offset - start
            start = offset


def _format_first_line(entry: Entry, offset: int, count: int) -> bytes:
    words = [entry["oid"], str(entry["orig"] + offset), str(entry["final"] + offset)]
    return " ".join([*words, str(count)] if count else words).encode()
