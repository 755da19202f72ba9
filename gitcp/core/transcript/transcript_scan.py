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
    """A scan without its lists: as previous it makes the next scan list only what is new."""
    return {**scan, "prompts": [], "written": [], "subagents": []}


def split(data: bytes) -> tuple[list[bytes], int]:
    """The complete lines of data and the number of bytes they take.

    A last line without its newline counts when it is JSON: stored transcripts often end so.
    """
    lines = data.split(b"\n")
    last_line = lines.pop()
    if not last_line:
        return lines, len(data)
    if load(last_line) is None:
        return lines, len(data) - len(last_line)
    return [*lines, last_line], len(data)


def load(line: bytes) -> dict[str, Any] | None:
    """The object a line is, or None."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read(reader: Reader, data: bytes) -> Scan:
    """The scan of the complete lines of data: a reader gets each that is not empty, which is one
    item, and at the end all of them, for the newest identifier and time."""
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
