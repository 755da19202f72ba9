"""What a file tool did to its path, by its own words: the content it found, and the one it left.

A call tells `content`, all that it writes, or `edits`, [old, new, whether everywhere]; its answer
may tell `original`, what it found.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def derive_contents(
    call: Mapping[str, Any], before: bytes, now: bytes
) -> tuple[bytes, bytes] | None:
    """(the content a call found, the content it left); None where it does not tell.

    before: what stood there at the call's start; now: at its end.  Line ends are those of now.
    """
    original = _encode_text(call["original"], now) if "original" in call else None
    if "content" in call:
        return before if original is None else original, _encode_text(call["content"], now)
    edits = [
        (_encode_text(old, now), _encode_text(new, now), everywhere)
        for old, new, everywhere in call.get("edits", ())
    ]
    for start in (original, before):
        left = _apply_edits(edits, start) if edits and start is not None else None
        if start is not None and left is not None:
            return start, left
    start = _apply_edits([(new, old, everywhere) for old, new, everywhere in reversed(edits)], now)
    return (start, now) if edits and start is not None else None


def _apply_edits(edits: Sequence[tuple[bytes, bytes, bool]], content: bytes) -> bytes | None:
    """A content after edits; None where one does not fit."""
    for old, new, everywhere in edits:
        if not old or old not in content:
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content


def _encode_text(text: str, like: bytes) -> bytes:
    """A text as it stands in a file with line ends like another's."""
    data = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    return data.replace(b"\n", b"\r\n") if b"\r\n" in like else data
