"""Parse `git log -p -U0`: commits, their files, and the hunks of the files."""

from __future__ import annotations

import re
from collections import deque
from itertools import chain, islice

from gitcp.errors import InputError
from gitcp.text.ids import COMMIT, EXECUTABLE, FILE, GONE, LINK, check_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Literal, NotRequired, TypedDict

    from gitcp.text.record_types import Entry

    # First line and count in the old content, then in the new one, as in `@@ -a,b +c,d @@`.
    Hunk = tuple[int, int, int, int]

    class Resolved(TypedDict):
        """A hunk of a combined diff.  starts: its 0-based first line in each parent.  lines: 'y' or
        'n' for each parent that has the line or not, and whether the result has it."""

        starts: list[int]
        lines: list[tuple[str, bool]]

    class Patch(TypedDict):
        """A file of a commit.  path: "" if it is deleted.  old: its former name, "" if it is new.
        was, oid: its blob before and after, zeros for none, "" if it is unchanged.  resolved: the
        hunks of a merge, which has no others."""

        path: str
        old: str
        was: str
        oid: str
        hunks: list[Hunk]
        resolved: list[Resolved]

    class Change(TypedDict):
        """A commit with its files.  author, committer: `Name <mail> seconds`."""

        oid: str
        parents: Sequence[str]
        author: str
        committer: str
        message: bytes
        patches: list[Patch]

    class Changed(TypedDict):
        """A path that differs from HEAD: type 'change', or 'blob' once its content is stored.

        status: 'A' added, 'M' modified, 'T' of another kind, 'D' deleted, '!' left out.
        """

        type: Literal["change", "blob"]
        status: str
        kind: Literal["tracked", "untracked"]  # by HEAD
        path: str
        mode: str
        oid: str | None  # None: deleted, or not hashed yet
        old_mode: str
        old_oid: str | None
        omitted: NotRequired[str]


_MOST = 1 << 31  # lines of a file
# no line between patches begins with it; a message has no NUL
_MARK = b"\x02"
_FIELDS = 5
FORMAT = ("--format=%x02%H%x00%P%x00%an <%ae> %at%x00%cn <%ce> %ct%x00%B%x00",)
_SIDES = b"--- ", b"+++ "  # these lines repeat the names
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_RANGE = re.compile(rb" [-+](\d+)(?:,(\d+))?")


def parse_commits(lines: Iterable[bytes]) -> Iterator[Change]:
    """Yield the commits of `git log -p -U0 --full-index` in FORMAT, in its order."""
    stream = iter(lines)
    change: Change | None = None
    for line in stream:
        if line.startswith(_MARK):
            if change:
                yield change
            change = _parse_commit(line, stream)
        elif change and line.startswith(b"diff --"):
            change["patches"].append(_start_patch(line))
        elif change and change["patches"] and not line.startswith(_SIDES):
            _parse_header(change["patches"][-1], line, stream)
    if change:
        yield change


def parse_patches(lines: Iterable[bytes]) -> list[Patch]:
    """The files of `git diff-tree -p -U0 --full-index` of two trees."""
    return next(parse_commits(chain((_MARK + b"\0" * _FIELDS,), lines)))["patches"]


def _parse_commit(line: bytes, stream: Iterator[bytes]) -> Change:
    lines = [line[1:]]
    ends = line.count(b"\0")
    while ends < _FIELDS:
        more = next(stream, None)
        if more is None:
            break
        lines.append(more)
        ends += more.count(b"\0")
    parts = b"\n".join(lines).split(b"\0") + [b""] * _FIELDS
    oid, parents, author, committer, message = parts[:_FIELDS]
    return {
        "oid": oid.decode(),
        "parents": parents.decode().split(),
        "author": author.decode("utf-8", "surrogateescape"),
        "committer": committer.decode("utf-8", "surrogateescape"),
        "message": message,
        "patches": [],
    }


def _start_patch(line: bytes) -> Patch:
    kind, _, name = line.removeprefix(b"diff --").partition(b" ")
    if kind == b"git":  # `a/<path> b/<path>`; if the paths differ, other lines name them
        first = name[: len(name) // 2]
        second = name[len(name) // 2 + 1 :]
        path = ""
        if first[3:] == second[3:]:
            path = _decode_name(first)[2:]
    else:
        path = _decode_name(name)
    return {
        "path": path,
        "old": path,
        "was": "",
        "oid": "",
        "hunks": [],
        "resolved": [],
    }


def _decode_name(name: bytes) -> str:
    return unquote_name(name).decode("utf-8", "surrogateescape")


def _parse_header(patch: Patch, line: bytes, stream: Iterator[bytes]) -> None:
    key, _, value = line.partition(b" ")
    if key == b"@@" and (header := _HUNK.match(line)):
        start, removed, first, added = map(int, header.groups(b"1"))
        patch["hunks"].append((start, removed, first, added))
        _skip_hunk(stream, removed, added)
    elif key == b"index":
        before, _, after = value.partition(b" ")[0].partition(b"..")
        patch["was"] = before.decode()
        patch["oid"] = after.decode()
    elif key == b"@@@" or line.startswith(b"@@@@"):
        patch["resolved"].append(_parse_resolved(line, stream))
    elif line.startswith((b"rename from ", b"copy from ")):
        patch["old"] = _decode_name(line.partition(b" from ")[2])
    elif line.startswith((b"rename to ", b"copy to ")):
        patch["path"] = _decode_name(line.partition(b" to ")[2])
    elif line.startswith(b"deleted file"):
        patch["path"] = ""
    elif line.startswith(b"new file"):
        patch["old"] = ""


def _skip_hunk(stream: Iterator[bytes], removed: int, added: int) -> None:
    """Skip the counted lines of a hunk, any of which may look like a header.

    `\\ No newline at end of file` after the last line of a side is not counted.
    """
    deque(islice(stream, removed), maxlen=0)
    if removed and added:
        added -= not next(stream, b"").startswith(b"\\")
    deque(islice(stream, added), maxlen=0)


def _parse_resolved(line: bytes, stream: Iterator[bytes]) -> Resolved:
    """A hunk of a merge: `@@@ -a,b -c,d +e,f @@@ <a line before it>`."""
    header = line.split(b" @@@", 1)[0]
    ranges: list[tuple[int, int]] = []
    for match in _RANGE.finditer(header):
        count = 1
        if match[2] is not None:
            count = int(match[2])
        ranges.append((int(match[1]), count))
    *parents, (_, left) = ranges
    counts = [count for _, count in parents]
    lines: list[tuple[str, bool]] = []
    if max(left, *counts) > _MOST:  # git's count fell below zero: the lines are passed over
        left = 0
        counts = []
    while left or any(counts):
        row = next(stream, None)
        if row is None:
            break
        if row.startswith(b"\\"):
            continue
        marks = row[: len(parents)].decode("latin-1")
        stays = "-" not in marks
        has = ""  # for each parent y or n
        for mark in marks:
            is_blank = mark == " "
            if mark != "+" and is_blank == stays:
                has += "y"
            else:
                has += "n"
        left -= stays
        counts = [n - (c == "y") for n, c in zip(counts, has, strict=True)]
        lines.append((has, stays))
    starts = [start - 1 if count else start for start, count in parents]
    return {"starts": starts, "lines": lines}


_ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def unquote_name(name: bytes) -> bytes:
    """The path that git printed as name, which it quotes if it has special bytes."""
    if len(name) < 2 or not name.startswith(b'"') or not name.endswith(b'"'):
        return name
    inner = name[1:-1]
    plain = bytearray()
    position = 0
    while position < len(inner):
        if inner[position] != ord("\\"):
            plain.append(inner[position])
            position += 1
        elif inner[position + 1 : position + 4].isdigit():
            plain.append(int(inner[position + 1 : position + 4], 8))
            position += 4
        else:
            plain.append(_ESCAPES.get(inner[position + 1], inner[position + 1]))
            position += 2
    return bytes(plain)


# Records of changed paths: build them, and check the entries they name.
_HEX = frozenset("0123456789abcdef")


def build_change(path: str, mode: str, oid: str | None, old: Entry | None) -> Changed:
    """The record of a path that was old in HEAD and now is (mode, oid)."""
    old_mode = GONE
    old_oid = None
    status = "A"
    if old is not None:
        old_mode, old_oid = old
        if mode == GONE:
            status = "D"
        elif old_mode[:2] == mode[:2]:
            status = "M"
        else:
            status = "T"
    return {
        "type": "blob" if oid else "change",
        "status": status,
        "kind": "tracked" if old else "untracked",
        "path": path,
        "mode": mode,
        "oid": oid,
        "old_mode": old_mode,
        "old_oid": old_oid,
    }


def build_omission(path: str, reason: str) -> Changed:
    """The record of a path that is left out of a snapshot."""
    record = build_change(path, GONE, None, None)
    return {**record, "status": "!", "omitted": reason}


def parse_new_entry(record: dict[str, Any], width: int) -> tuple[str, Entry | None]:
    """(path, entry) that a change or blob record asks for; entry None: remove the path.

    width: hex digits of an object name.  Raise InputError for a record that is not valid.
    """
    path = check_path(record.get("path"))
    mode = record.get("mode")
    if mode == GONE:
        return path, None
    return path, _check_entry(path, mode, record.get("oid"), width)


def parse_old_entry(record: dict[str, Any], width: int) -> Entry | None:
    """HEAD's entry in a change record, None for an added path."""
    mode = record.get("old_mode", GONE)
    if mode == GONE:
        return None
    return _check_entry(record["path"], mode, record.get("old_oid"), width)


def _check_entry(path: str, mode: object, oid: object, width: int) -> Entry:
    if not isinstance(mode, str) or mode not in (FILE, EXECUTABLE, LINK, COMMIT):
        raise InputError(f"'mode' of {path!a} is not a mode of git: {ascii(mode)[:40]}")
    if not isinstance(oid, str) or len(oid) != width or not _HEX.issuperset(oid):
        raise InputError(f"'oid' of {path!a} is not the name of an object: {ascii(oid)[:80]}")
    return mode, oid
