"""Split a transcript into chunks by a fixed schedule of sizes (doc/formats.md "Transcript").

A longer transcript of the same session has the same first chunks, so git stores them once.  Chunks
are stored without their last newline, except the last one: joined with newlines they are the
transcript again, byte for byte.
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# (number of chunks, least bytes of each), for 999 numbers, which sort as text
SCHEDULE = ((320, 64 << 10), (300, 256 << 10), (200, 1 << 20), (179, 11 << 20))
DOCUMENT = 50 << 20  # one JSON document is cut only above this size
NAME = "full.jsonl"
LEGACY = "full.log"


def get_least_size(number: int) -> int | None:
    """The least size of a chunk in bytes; None: it takes all bytes that are left."""
    for count, least in SCHEDULE:
        if number < count:
            return least
        number -= count
    return None


def find_ends(data: bytes, first: int = 0) -> list[int]:
    """The ends of the complete chunks in data, which begins with chunk number first.

    A chunk ends with the first line that reaches its least size.  It is complete if a byte follows.
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
    """The chunks of a JSON document, split at line ends, each of at most DOCUMENT bytes unless a
    line is longer."""
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
    complete = [data[start : end - 1] for start, end in zip(starts, ends, strict=False)]
    return [*complete, data[starts[-1] :]]


def format_name(number: int) -> str:
    """The file name of chunk number: full.jsonl, full.jsonl.001, …"""
    return f"{NAME}.{number:03d}" if number else NAME


def parse_number(name: str) -> int | None:
    """The number of the chunk with this file name, None for another file; full.log is 0."""
    if name in (NAME, LEGACY):
        return 0
    digits = name.removeprefix(NAME + ".")
    numbered = digits != name and digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if numbered else None


def is_document(first_line: bytes, path: str) -> bool:
    """Whether a transcript is one JSON document (Gemini's former format), not JSON lines."""
    return path.endswith(".json") or first_line.strip() == b"{"


def merge_documents(old: bytes, new: bytes) -> bytes:
    """The document new with the messages of old that it lacks before its own.

    new itself, byte for byte, if it lacks none or one of them is not such a document.
    """
    old_document, document = _parse_document(old), _parse_document(new)
    if old_document is None or document is None:
        return new
    keys = set(map(_identify_message, document["messages"]))
    missing = [m for m in old_document["messages"] if _identify_message(m) not in keys]
    if not missing:
        return new
    document["messages"] = missing + document["messages"]
    return json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


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
