"""A stream of `git log -p -U0` taken apart: commits, their files, and the hunks of those."""

from __future__ import annotations

import re

from gitcp.core.git import quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypedDict

    from gitcp.core.stats.survival import Hunk, Resolved

    class Patch(TypedDict):
        """A file of a commit.  path: b"" where it is deleted; old: its name before, b"" where it
        is new; oid: its blob; resolved: the hunks of a merge, which has no others."""

        path: bytes
        old: bytes
        oid: str
        hunks: list[Hunk]
        resolved: list[Resolved]


MARK = b"\x02"  # before the name of a commit; no line of a patch begins so
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_RANGE = re.compile(rb" [-+](\d+)(?:,(\d+))?")


def commits(lines: Iterable[bytes]) -> Iterator[tuple[str, list[Patch]]]:
    """(oid, its files) of each commit, as they come."""
    stream = iter(lines)
    oid, patches = "", list["Patch"]()
    for line in stream:
        if line.startswith(MARK):
            if oid:
                yield oid, patches
            oid, patches = line[1:].decode(), []
        elif line.startswith(b"diff --"):
            patches.append(_begun(line))
        elif patches:
            _header(patches[-1], line, stream)
    if oid:
        yield oid, patches


def _begun(line: bytes) -> Patch:
    kind, _, rest = line.removeprefix(b"diff --").partition(b" ")
    if kind == b"git":  # `a/<path> b/<path>`; where the two differ, other lines name them
        half = rest[: len(rest) // 2]
        path = _named(half)
    else:
        path = quoting.unquote(rest)
    return {"path": path, "old": path, "oid": "", "hunks": [], "resolved": []}


def _named(name: bytes) -> bytes:
    """The path of `a/<path>`; b"" for /dev/null."""
    path = quoting.unquote(name.removesuffix(b"\t"))
    return b"" if path == b"/dev/null" else path[2:]


def _header(patch: Patch, line: bytes, stream: Iterator[bytes]) -> None:
    key, _, value = line.partition(b" ")
    if key == b"@@" and (header := _HUNK.match(line)):
        start, removed, first, added = (1 if n is None else int(n) for n in header.groups())
        patch["hunks"].append((start, removed, first, added))
        _skip(stream, removed + added)
    elif line.startswith(b"@@@"):
        patch["resolved"].append(_resolved(line, stream))
    elif key == b"index":
        patch["oid"] = value.partition(b"..")[2].partition(b" ")[0].decode()
    elif key == b"---":
        patch["old"] = _named(value)
    elif key == b"+++":
        patch["path"] = _named(value)
    elif line.startswith((b"rename from ", b"copy from ")):
        patch["old"] = quoting.unquote(line.partition(b" from ")[2])
    elif line.startswith((b"rename to ", b"copy to ")):
        patch["path"] = quoting.unquote(line.partition(b" to ")[2])
    elif line.startswith(b"deleted file"):
        patch["path"] = b""
    elif line.startswith(b"new file"):
        patch["old"] = b""


def _skip(stream: Iterator[bytes], count: int) -> None:
    """Pass over the lines of a hunk: their number is told, so that none is taken for a header."""
    while count and (line := next(stream, None)) is not None:
        count -= not line.startswith(b"\\")  # `\ No newline at end of file`


def _resolved(line: bytes, stream: Iterator[bytes]) -> Resolved:
    """A hunk of a merge: `@@@ -a,b -c,d +e,f @@@`."""
    ranges = [(int(m[1]), 1 if m[2] is None else int(m[2])) for m in _RANGE.finditer(line)]
    parents, (_, left) = ranges[:-1], ranges[-1]
    counts = [count for _, count in parents]
    lines: list[tuple[str, bool]] = []
    while (left or any(counts)) and (row := next(stream, None)) is not None:
        if row.startswith(b"\\"):
            continue
        marks = row[: len(parents)].decode("latin-1")
        stays = "-" not in marks
        has = "".join("y" if (mark == " ") == stays and mark != "+" else "n" for mark in marks)
        left -= stays
        counts = [n - (c == "y") for n, c in zip(counts, has, strict=True)]
        lines.append((has, stays))
    starts = [start - 1 if count else start for start, count in parents]
    return {"starts": starts, "lines": lines}
