"""Cutting a transcript into chunks by a fixed schedule over its own bytes
(doc/formats.md "Transcript").

A longer transcript of the same session has the same first chunks, so git stores them once.
A chunk is stored without its last newline, the last chunk as it is: joined with newlines
they are the transcript again, byte for byte.
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# (how many chunks, of at least how many bytes); names stay below the last that sorts right
SCHEDULE = ((320, 64 << 10), (300, 256 << 10), (200, 1 << 20), (179, 11 << 20))
DOCUMENT = 50 << 20  # one JSON document is cut only above this size
NAME = "full.jsonl"
LEGACY = "full.log"


def get_least_size(number: int) -> int | None:
    """How many bytes chunk number has at least; None: it takes all that is left."""
    for count, least in SCHEDULE:
        if number < count:
            return least
        number -= count
    return None


def find_ends(data: bytes, first: int = 0) -> list[int]:
    """Where each complete chunk in data ends; data begins with chunk number first.

    A chunk ends with the first line that reaches its size, and is complete once a byte follows.
    """
    ends: list[int] = []
    start = 0
    while (least := get_least_size(first + len(ends))) is not None:
        end = data.find(b"\n", start + least - 1) + 1
        if end == 0 or end == len(data):
            break
        ends.append(end)
        start = end
    return ends


def split(data: bytes, first: int = 0) -> list[bytes]:
    """The chunks of data as they are stored, at least one; data begins with chunk first."""
    return _cut_at(data, find_ends(data, first))


def split_document(data: bytes) -> list[bytes]:
    """The chunks of one JSON document: at line ends, each of at most DOCUMENT bytes.

    A line longer than that is not cut: nothing is lost, whatever its size.
    """
    ends: list[int] = []
    start = 0
    while len(data) - start > DOCUMENT:
        end = data.rfind(b"\n", start, start + DOCUMENT) + 1 or data.find(b"\n", start) + 1
        if end == 0 or end == len(data):
            break
        ends.append(end)
        start = end
    return _cut_at(data, ends)


def _cut_at(data: bytes, ends: Sequence[int]) -> list[bytes]:
    starts = [0, *ends]
    done = [data[a : b - 1] for a, b in zip(starts, ends, strict=False)]
    return [*done, data[starts[-1] :]]


def format_name(number: int) -> str:
    """The file name of chunk number: full.jsonl, full.jsonl.001, …"""
    return f"{NAME}.{number:03d}" if number else NAME


def parse_number(name: str) -> int | None:
    """Which chunk a file name stands for, None for none; full.log is the legacy chunk 0."""
    if name in (NAME, LEGACY):
        return 0
    digits = name.removeprefix(NAME + ".")
    numbered = digits != name and digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if numbered else None


def is_document(first_line: bytes, path: str) -> bool:
    """Whether a transcript is one JSON document (Gemini's former format), not JSON lines."""
    return path.endswith(".json") or first_line.strip() == b"{"


def merge_documents(old: bytes, new: bytes) -> bytes:
    """The document new with those messages of old that it lacks in front of its own.

    new itself, byte for byte, where it lacks none or one of the two is no such document.
    """
    before, now = _parse_document(old), _parse_document(new)
    if before is None or now is None:
        return new
    known = {_identify_message(m) for m in now["messages"]}
    missing = [m for m in before["messages"] if _identify_message(m) not in known]
    if not missing:
        return new
    now["messages"] = missing + now["messages"]
    return json.dumps(now, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _parse_document(data: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return None
    return document


def _identify_message(message: Any) -> str:
    name = message.get("id") if isinstance(message, dict) else None
    return stdlib.json.dumps(name if name else message, sort_keys=True)
