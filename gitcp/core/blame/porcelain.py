"""What `git blame` prints for programs, taken apart and put together with other authors.

One reader for --line-porcelain, --porcelain and --incremental (git-blame(1), "The porcelain
format"): entries begin with `<oid> <line there> <line here> [<count>]`; header lines follow
where git says them, then a content line that begins with a tab, which --incremental has not.
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

        oid: the commit, zeros for what is not committed.  orig: the line there, in path (the name
        itself, which the headers have quoted); final: the line here.  count: 0 within a group,
        else how many lines it has.  headers: what git says of the commit in this entry.  content:
        None with --incremental.
        """

        oid: str
        orig: int
        final: int
        count: int
        path: str
        headers: list[tuple[bytes, bytes]]
        content: bytes | None

    # The author and the mail of one line of an entry, by its offset; None: git's own.
    Names = Callable[[Entry, int], tuple[bytes, bytes] | None]

_HEAD = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (\d+) (\d+)(?: (\d+))?")

# What ends the headers: the path, or behind it what newer git marks a line with.
_LAST = frozenset((b"filename", b"ignored", b"unblamable"))


def parse(output: bytes) -> tuple[list[Entry], bytes]:
    """The entries git printed, and what it printed behind them (--show-stats)."""
    lines = output.split(b"\n")
    last = len(lines) - 1
    entries: list[Entry] = []
    paths: dict[bytes, str] = {}
    at = 0
    while at < last and (head := _HEAD.fullmatch(lines[at])):
        at += 1
        oid, orig, final, count = head.groups()
        headers: list[tuple[bytes, bytes]] = []
        while at < last and not lines[at].startswith(b"\t") and not _HEAD.fullmatch(lines[at]):
            key, _, value = lines[at].partition(b" ")
            headers.append((key, value))
            at += 1
            if key == b"filename":
                paths[oid] = patches.unquote_name(value).decode("utf-8", "surrogateescape")
            if key in _LAST and lines[at] not in _LAST:
                break
        content = lines[at][1:] if at < last and lines[at].startswith(b"\t") else None
        at += content is not None
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
    return entries, b"\n".join(lines[at:])


def complete(entries: list[Entry]) -> list[Entry]:
    """Entries of --porcelain, each with the headers that git says of its commit once."""
    known: dict[str, list[tuple[bytes, bytes]]] = {}
    for entry in entries:
        entry["headers"] = known.setdefault(entry["oid"], entry["headers"])
    return entries


def map_headers(entries: Iterable[Entry]) -> dict[str, dict[bytes, bytes]]:
    """What git says of each commit of complete() entries, by its oid."""
    known: dict[str, dict[bytes, bytes]] = {}
    for entry in entries:
        if entry["oid"] not in known:
            known[entry["oid"]] = dict(entry["headers"])
    return known


def rewrite_entries(entries: list[Entry], spelled: Names) -> Iterator[bytes]:
    """The lines of entries with the authors that spelled gives; all else is as git printed it.

    Where git speaks of a commit once, its author is said again as soon as another one holds,
    and an entry of --incremental is parted where its author changes.
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
            if b"author" in headers and not offset:
                author_headers = {b"author": author[0], b"author-mail": author[1]}
                yield from (
                    b"%s %s" % (k, author_headers.get(k, v)) if v else k
                    for k, v in entry["headers"]
                )
            else:
                if author != last[entry["oid"]]:
                    yield from (b"author " + author[0], b"author-mail " + author[1])
                named = [b"%s %s" % pair for pair in entry["headers"] if pair[0] == b"filename"]
                rest = [p for p in entry["headers"] if p[0] != b"filename"]
                if not offset:
                    yield from (b"%s %s" % (k, v) if v else k for k, v in rest)
                yield from named
            last[entry["oid"]] = author
        if entry["content"] is not None:
            yield b"\t" + entry["content"]


def _split_entry(entry: Entry, spelled: Names) -> Iterator[tuple[int, int]]:
    """(offset, count) of the runs of an entry with one author each."""
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
