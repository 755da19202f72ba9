"""Scan the lines of a transcript, for all clients.

A scan can be continued: scan(a + b) is scan(b, previous=scan(a)), so that only new lines of a long
session are read.  Irrelevant lines are not parsed.
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
    """An empty scan, or a copy of previous to be continued."""
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
    """A scan without its lists: continued, it lists only new items."""
    return {**scan, "prompts": [], "written": [], "subagents": []}


def split(data: bytes) -> tuple[list[bytes], int]:
    """(the complete lines of data, their number of bytes).

    A last line without a newline is complete if it is JSON: stored transcripts often end so.
    """
    lines = data.split(b"\n")
    last_line = lines.pop()
    if not last_line:
        return lines, len(data)
    if load(last_line) is None:
        return lines, len(data) - len(last_line)
    return [*lines, last_line], len(data)


def load(line: bytes | str) -> dict[str, Any] | None:
    """The JSON object in a line, or None."""
    try:
        value = json.mend_halves(json.loads(line), line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def load_parts(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """(the objects of a transcript: a document, or those of its lines; the number of lines that are
    none)."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    document = load(data) if lines and load(lines[0]) is None else None
    if document is not None:  # of several lines
        return [document], 0
    parts = [entry for line in lines if (entry := load(line)) is not None]
    return parts, len(lines) - len(parts)


def read(reader: Reader, data: bytes) -> Scan:
    """Scan the complete lines of data.  The reader gets each line that is not empty, which counts
    as an item, and at the end all lines."""
    lines, used = split(data)
    for line in lines:
        if line and not line.isspace():
            reader.read_line(line)
            reader.scan["items"] += 1
    scan = reader.finish(lines)
    scan["bytes"] += used
    return scan


def note_newest(scan: Scan, lines: list[bytes], identifier: str | None) -> None:
    """Set the scan's last identifier, and its last time to the newest in lines, unless empty."""
    scan["last_identifier"] = identifier or scan["last_identifier"]
    scan["last_timestamp"] = find_newest(lines, "timestamp") or scan["last_timestamp"]


def find_newest(lines: list[bytes], key: str) -> str | None:
    """The last non-empty text under key in the objects of lines."""
    mark = b'"%s"' % key.encode()
    for line in reversed(lines):
        value = (load(line) or {}).get(key) if mark in line else None
        if isinstance(value, str) and value:
            return value
    return None


def join_unique(*words: list[str]) -> list[str]:
    """All the texts in order, each once."""
    return list(dict.fromkeys(text for texts in words for text in texts))


def list_blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of an entry's message as blocks; a bare text is one."""
    content = ensure_object(entry.get("message")).get("content")
    return (
        [{"type": "text", "text": content}] if isinstance(content, str) else list_objects(content)
    )


def list_objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; [] for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def ensure_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
