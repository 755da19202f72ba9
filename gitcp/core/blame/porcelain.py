"""What `git blame` prints for programs, taken apart and put together with other authors.

One reader for --line-porcelain, --porcelain and --incremental (git-blame(1), "The porcelain
format"): entries begin with `<oid> <line there> <line here> [<count>]`; header lines follow
where git says them, then a content line that begins with a tab, which --incremental has not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypedDict

    class Entry(TypedDict):
        """A line of the file, or with --incremental `count` of them.

        oid: the commit, zeros for what is not committed.  orig: the line there, in path;
        final: the line here.  count: 0 within a group, else how many lines it has.  headers:
        what git says of the commit in this entry.  content: None with --incremental.
        """

        oid: str
        orig: int
        final: int
        count: int
        path: bytes
        headers: list[tuple[bytes, bytes]]
        content: bytes | None

    # The author and the mail of one line of an entry, by its offset; None: git's own.
    Names = Callable[[Entry, int], tuple[bytes, bytes] | None]

HEX = frozenset(b"0123456789abcdef")


def parse(output: bytes) -> tuple[list[Entry], bytes]:
    """The entries git printed, and what it printed behind them (--show-stats)."""
    lines = output.split(b"\n")
    entries: list[Entry] = []
    paths: dict[str, bytes] = {}
    at = 0
    while at < len(lines) - 1 and (head := _head(lines[at])):
        at += 1
        headers: list[tuple[bytes, bytes]] = []
        content = None
        while at < len(lines) - 1 and content is None:
            line = lines[at]
            if not line.startswith(b"\t") and _head(line):
                break  # --incremental: the next entry
            at += 1
            if line.startswith(b"\t"):
                content = line[1:]
                break
            key, _, value = line.partition(b" ")
            headers.append((key, value))
            if key == b"filename":
                paths[head[0]] = value
                if at < len(lines) - 1 and not lines[at].startswith(b"\t"):
                    break
        oid, orig, final, count = head
        entries.append(
            {
                "oid": oid,
                "orig": orig,
                "final": final,
                "count": count,
                "path": paths.get(oid, b""),
                "headers": headers,
                "content": content,
            }
        )
    return entries, b"\n".join(lines[at:])


def whole(entries: list[Entry]) -> list[Entry]:
    """Entries of --porcelain, each with the headers that git says of its commit once."""
    known: dict[str, list[tuple[bytes, bytes]]] = {}
    for entry in entries:
        entry["headers"] = known.setdefault(entry["oid"], entry["headers"])
    return entries


def _head(line: bytes) -> tuple[str, int, int, int] | None:
    words = line.split(b" ")
    if len(words) not in (3, 4) or len(words[0]) not in (40, 64) or not HEX.issuperset(words[0]):
        return None
    if not all(word.isdigit() for word in words[1:]):
        return None
    numbers = [int(word) for word in words[1:]]
    return words[0].decode(), numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 0


def rewritten(entries: list[Entry], names: Names) -> Iterator[bytes]:
    """The lines of entries with the authors that names gives; all else is as git said it.

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
        for offset, count in _parts(entry, names):
            author = names(entry, offset) or own[entry["oid"]]
            yield _first(entry, offset, count)
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


def _parts(entry: Entry, names: Names) -> Iterator[tuple[int, int]]:
    """(offset, count) of the runs of an entry with one author each."""
    if entry["content"] is not None:
        yield 0, entry["count"]
        return
    start = 0
    for offset in range(1, entry["count"] + 1):
        if offset == entry["count"] or names(entry, offset) != names(entry, start):
            yield start, offset - start
            start = offset


def _first(entry: Entry, offset: int, count: int) -> bytes:
    words = [entry["oid"], str(entry["orig"] + offset), str(entry["final"] + offset)]
    return " ".join([*words, str(count)] if count else words).encode()
