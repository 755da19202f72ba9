"""Make hidden characters of a text visible, and embed JSON in a page."""

from __future__ import annotations

import base64
import gzip
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_JOINER = "\u200d"  # it joins emoji into one
# Characters that turn the direction of text, break its lines, or are invisible.
_HIDDEN = (
    *range(0x7F, 0xA0),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *(0x00AD, 0x034F, 0x061C, 0x070F, 0x115F, 0x1160, 0x180E, 0x3164, 0xFEFF, 0xFFA0),
    *range(0xFFF9, 0xFFFC),
    *range(0x13430, 0x13440),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE0080),
)
_NAMES = {code: f"⟨U+{code:04X}⟩" for code in _HIDDEN}
_JOINED = _NAMES.pop(ord(_JOINER))
_NAMES |= {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_NAMES |= dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")


def name_hidden(text: str) -> str:
    """text with control and bidi characters shown by their names, half characters as U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    if _JOINER in text:
        first, *rest = text.split(_JOINER)
        text, last = first, first
        for part in rest:
            text += (_JOINER if last[-1:] > "\u2000" else _JOINED) + part
            last = part
    return text.translate(_NAMES)


def embed_json(value: Any) -> str:
    """value as JSON for the inside of a script element: nothing in it can end that."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def pack_json(value: Any) -> str:
    """value as JSON, compressed, in base64; the same value always gives the same text."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
