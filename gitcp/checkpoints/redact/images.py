"""Replace pictures in lines of transcripts by a small one or by a mark."""

from __future__ import annotations

from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable


class Picture:
    """kind: its type after `image/`.  body: base64, or a mark for it."""

    __slots__ = ("body", "kind")

    def __init__(self, kind: bytes, body: bytes) -> None:
        self.kind = kind
        self.body = body


MARK = b"gitcp/sha256"  # before 64 hex digits; all are letters of base64, as in a picture
# A transparent dot, a picture that every model's API accepts.
DOT = Picture(
    b"png",
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    b"+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
)
# Quotes may be escaped, at any depth of JSON in JSON.
_TYPE = rb'(?:(?:media|mime)_?[tT]ype|type)\\*"\s*:\s*\\*"image/)([a-z0-9.+-]{1,40})'
_DATA = rb'(?:data|base64)\\*"\s*:\s*\\*")([0-9A-Za-z+/]{64,}+={0,2})'
_URL = rb"(data:image/)([a-z0-9.+-]{1,40})(;base64,)([0-9A-Za-z+/]{64,}+={0,2})"
_SHAPES = (
    (load_pattern(rb'("' + _TYPE + rb'(\\*"\s*,\s*\\*"' + _DATA), (2, 4)),
    (load_pattern(rb'("' + _DATA + rb'(\\*"\s*,\s*\\*"' + _TYPE), (4, 2)),
    (load_pattern(_URL), (2, 4)),
)


def replace(data: bytes, put: Callable[[Picture], Picture]) -> bytes:
    """Lines of JSON of any client, with each picture replaced by put()."""
    if b"image/" not in data:
        return data
    for shape, (kind, body) in _SHAPES:

        def swap(match: re.Match[bytes], kind: int = kind, body: int = body) -> bytes:
            parts = [match[number] for number in range(1, 5)]
            picture = put(Picture(match[kind], match[body]))
            parts[kind - 1] = picture.kind
            parts[body - 1] = picture.body
            return b"".join(parts)

        data = shape.sub(swap, data)
    return data


def drop(_: Picture) -> Picture:
    """A dot as the replacement of any picture."""
    return DOT
