"""Hostile text made visible, and JSON that can stand in a page."""

from __future__ import annotations

import base64
import gzip
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What turns the direction of text round, or is not seen at all.
_HIDDEN = {
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    0x00AD,
    0x061C,
    0xFEFF,
    *range(0xE0000, 0xE0080),
}
_JOINER = 0x200D  # between emoji it makes one of several


def visible(text: str) -> str:
    """text with control and bidi characters shown by their names, half characters as U+FFFD."""
    if text.isascii() and (text.isprintable() or not any(map(_control, text))):
        return text
    return "".join(_visible_char(text, at, char) for at, char in enumerate(text))


def _control(char: str) -> bool:
    return (char < " " and char not in "\n\t") or "\x7f" <= char < "\xa0"


def _visible_char(text: str, at: int, char: str) -> str:
    code = ord(char)
    if _control(char):
        return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"
    if 0xD800 <= code < 0xE000:
        return "\N{REPLACEMENT CHARACTER}"
    if code == _JOINER and at and ord(text[at - 1]) > 0x2000:
        return char
    return f"⟨U+{code:04X}⟩" if code in _HIDDEN else char


def embedded(value: Any) -> str:
    """value as JSON for the inside of a script element: nothing in it can end that."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packed(value: Any) -> str:
    """value as JSON, compressed, in base64; the same value always gives the same text."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
