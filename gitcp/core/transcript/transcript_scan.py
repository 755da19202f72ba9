"""What reading a transcript gives, whichever agent wrote it, and its cutting into lines.

A scan goes over the bytes once and can be continued: scan(a + b) is scan(b, previous=scan(a)), so
that a long session pays for its new lines only.  Lines that cannot matter are never parsed.
"""

from __future__ import annotations

from gitcp.core import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Scan


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


def cursor(scan: Scan) -> Scan:
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


def last(lines: list[bytes], key: str) -> str | None:
    """The newest non-empty text that stands under key at the top of a line."""
    mark = b'"%s"' % key.encode()
    for line in reversed(lines):
        value = (load(line) or {}).get(key) if mark in line else None
        if isinstance(value, str) and value:
            return value
    return None


def unique(*given: list[str]) -> list[str]:
    """All the texts in order, each once."""
    return list(dict.fromkeys(text for texts in given for text in texts))
