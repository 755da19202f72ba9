"""What reading a transcript gives, whichever agent wrote it, and its cutting into lines.

A scan goes over the bytes once and can be continued: scan(a + b) is scan(b, previous=scan(a)), so
that a long session pays for its new lines only.  Lines that cannot matter are never parsed.
"""

from __future__ import annotations

from gitcp.core import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from gitcp.core.record_types import Scan

    class Reader(Protocol):
        """The state of one scan of a client's lines."""

        scan: Scan

        def read_line(self, line: bytes) -> None: ...
        def finish(self, lines: list[bytes]) -> Scan: ...


def begin(previous: Scan | None = None) -> Scan:
    """The scan of nothing, or a copy of previous that may be added to."""
    if previous is None:
        return {
            "items": 0,
            "bytes": 0,
            "skipped": 0,
            "prompts": [],
            "written": [],
            "usage": None,
            "subagents": [],
            "last_identifier": None,
            "last_timestamp": None,
            "carry": {},
        }
    lists = {key: list(previous[key]) for key in ("prompts", "written", "subagents")}
    return {**previous, **lists}  # type: ignore[typeddict-item]


def make_cursor(scan: Scan) -> Scan:
    """As previous, this makes the next scan give only what is new: small enough to be kept."""
    return {**scan, "prompts": [], "written": [], "subagents": []}


def split(data: bytes) -> tuple[list[bytes], int]:
    """The complete lines of data and the number of bytes they take.

    A last line without its newline counts when it is JSON: stored transcripts often end so.
    """
    lines = data.split(b"\n")
    rest = lines.pop()
    if not rest:
        return lines, len(data)
    if load(rest) is None:
        return lines, len(data) - len(rest)
    return [*lines, rest], len(data)


def load(line: bytes) -> dict[str, Any] | None:
    """The object a line is, or None."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read(reader: Reader, data: bytes) -> Scan:
    """What a reader makes of the complete lines of data: it is given each that is not empty, one
    item, and at the end all of them, for what only the newest tell."""
    lines, used = split(data)
    for line in lines:
        if line and not line.isspace():
            reader.read_line(line)
            reader.scan["items"] += 1
    scan = reader.finish(lines)
    scan["bytes"] += used
    return scan


def note_newest(scan: Scan, lines: list[bytes], identifier: str | None) -> None:
    """Take the identifier of the newest message among lines into a scan, and their newest time;
    what none of them tells stays as it was."""
    scan["last_identifier"] = identifier or scan["last_identifier"]
    scan["last_timestamp"] = find_newest(lines, "timestamp") or scan["last_timestamp"]


def find_newest(lines: list[bytes], key: str) -> str | None:
    """The newest non-empty text that stands under key at the top of a line."""
    mark = b'"%s"' % key.encode()
    for line in reversed(lines):
        value = (load(line) or {}).get(key) if mark in line else None
        if isinstance(value, str) and value:
            return value
    return None


def join_unique(*words: list[str]) -> list[str]:
    """All the texts in order, each once."""
    return list(dict.fromkeys(text for texts in words for text in texts))
