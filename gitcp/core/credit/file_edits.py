"""The contents before and after a file tool, derived from its input and its response.

The input has `content`, the whole new content, or `edits`, [old, new, whether everywhere].  The
response may have `original`, the content that the tool found.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def derive_contents(
    call: Mapping[str, Any], before: bytes, now: bytes
) -> tuple[bytes, bytes] | None:
    """(content before the call, content after it); None if they cannot be derived.

    before: the content at the start of the call; now: at its end.  Line endings are as in now.
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
    """The content after edits; None if one of them does not apply."""
    for old, new, everywhere in edits:
        if not old or old not in content:
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content


def _encode_text(text: str, like: bytes) -> bytes:
    """The bytes of a text with the line endings that `like` has."""
    data = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    return data.replace(b"\n", b"\r\n") if b"\r\n" in like else data
