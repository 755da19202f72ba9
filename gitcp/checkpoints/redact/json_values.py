"""Find the string values in a JSON text, and decode them."""

from __future__ import annotations

from gitcp.text import json
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    Secret = tuple[str, int, int]  # rule, start, end
    Span = tuple[int, int]  # start, end
    Value = tuple[int, int, bytes]  # start, end, key

_TOKEN = load_pattern(rb'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}\[\]]')
# Two \u escapes, the first of [dD][89ABab], are one character outside the BMP.
_ESCAPE = load_pattern(
    rb"\\(?:u([0-9A-Fa-f]{4}(?:(?<=[dD][89ABab]..)\\u[dD][C-Fc-f][0-9A-Fa-f]{2})?)|(.))"
)
_CONTROL = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}
_OPAQUE = load_pattern(rb'(?i)(?:(ids?)|signature|encrypted_content)"$')
# Keys of gitcp's own documents whose values are ids, paths, branches and words of its own.
_OWN = load_pattern(
    rb'"(transcript_path|branch|files_touched|omitted|before|oid|mode|turns?|turn_id|ranges|commit'
    rb"|created_at|cli_version|strategy|agents?|tools|tasks|transcript_(?:identifier|uuid)_at_start"
    rb'|metadata|transcript|context|content_hash)"$'
)
_LABEL = 18  # bytes with the quotes: no secret's format is as short as most keys
_CIPHERTEXT = 64  # bytes with the quotes: no model's signature is as short
_IMAGE = load_pattern(rb'"(?:image|base64"$)')


def is_well_formed(data: bytes) -> bool:
    """Whether data is a JSON text; bytes that are not UTF-8 are accepted."""
    try:
        json.loads(data.decode("latin-1"))
    except (ValueError, RecursionError):
        return False
    return True


class Strings:
    """The strings of a well-formed JSON text by what may be secret in them, each as (start, end,
    key): its span without the quotes, its key with them.

    values may be redacted.  names and ids may look random and are secret only by a known form.
    documents, in an object whose `type` begins with image, are secret only if they are base64 of a
    text with a secret.  own: in a document of gitcp, paths and branches are names, too.  Long
    values of keys that end in signature or are `encrypted_content`, which an agent needs back, are
    left out (doc/formats.md "Redaction").
    """

    def __init__(self, data: bytes, own: bool = False) -> None:
        self.values: list[Value] = []
        self.names: list[Value] = []
        self.documents: list[Value] = []
        stack: list[tuple[bytes, bytes, int, bool]] = []  # of what is around: the four below
        bracket = b""
        key = b""
        first = 0  # of values: what this object or list has
        is_image = False
        for match in _TOKEN.finditer(data):
            string = match[1]
            if string is None:
                mark = match[0]
                if mark in b"{[":
                    stack.append((bracket, key, first, is_image))
                    bracket = mark
                    if mark == b"{":
                        key = b""
                    first = len(self.values)
                    is_image = False
                else:
                    if is_image:
                        self.documents += self.values[first:]
                        del self.values[first:]
                    bracket, key, first, is_image = stack.pop()
                continue
            start = match.start() + 1
            end = match.start() + len(string) - 1
            if match[2] is not None:
                key = string
                if len(string) > _LABEL:
                    self.names.append((start, end, b'""'))
                continue
            if bracket == b"{" and key == b'"type"' and _IMAGE.match(string):
                is_image = True
            opaque = (own and _OWN.match(key)) or _OPAQUE.search(key)
            if not opaque:
                self.values.append((start, end, key))
            elif opaque[1] or len(string) < _CIPHERTEXT:
                self.names.append((start, end, key))


class Decoded:
    """A string value without its escapes, with the raw offset of each byte."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._end = end
        self._here = [0]
        self._there = [start]
        self._whole = [False]
        pieces: list[bytes] = []
        size = 0
        for match in _ESCAPE.finditer(data, start, end):
            piece = data[start : match.start()]
            char = _decode_escape(match)
            size += len(piece)
            self._here += (size, size + len(char))
            self._there += (match.start(), match.end())
            self._whole += (True, False)
            size += len(char)
            start = match.end()
            pieces += (piece, char)
        pieces.append(data[start:end])
        self.text = b"".join(pieces)

    def find_raw_span(self, start: int, end: int) -> Span:
        """The [start, end) in the raw data of a part of text; escapes are not split."""
        return self._find_raw_offset(start, False), self._find_raw_offset(end, True)

    def _find_raw_offset(self, offset: int, up: bool) -> int:
        if offset >= len(self.text):
            return self._end
        import bisect

        index = bisect.bisect_right(self._here, offset) - 1
        past = offset - self._here[index]
        if not self._whole[index]:
            return self._there[index] + past
        if up and past:
            return self._there[index + 1]
        return self._there[index]


def _decode_escape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        text: str = json.loads(b'"%b"' % match[0])
        return text.encode("utf-8", "surrogatepass")
    return _CONTROL.get(match[2], match[2])


class Joined:
    """Values of a JSON text joined in one text, without their escapes.

    A value has lines of its own, as `"key": "value"`, so that its key is searched with it.
    """

    def __init__(self, data: bytes, values: list[Value]) -> None:
        pieces: list[bytes] = []
        self._parts: list[tuple[int, int, Decoded]] = []  # start, end in the text
        size = 0
        for start, end, key in values:
            value = Decoded(data, start, end)
            head = b"\n\n" + key + b': "'
            size += len(head)
            self._parts.append((size, size + len(value.text), value))
            size += len(value.text) + 1
            pieces += (head, value.text, b'"')
        self.text = b"".join(pieces)

    def map_to_raw(self, secrets: Sequence[Secret]) -> list[Secret]:
        """The secrets in the joined text, which are sorted, with their offsets in the raw data."""
        if not secrets:
            return []
        out: list[Secret] = []
        first = 0
        for start, end, value in self._parts:
            while first < len(secrets) and secrets[first][2] <= start:
                first += 1
            for rule, a, b in secrets[first:]:
                if a >= end:
                    break
                span = value.find_raw_span(max(a, start) - start, min(b, end) - start)
                out.append((rule, *span))
        return out
