"""Find secrets in encoded text: base64, hex, and the escapes of URLs."""

from __future__ import annotations

from gitcp.core.redact.patterns import load_pattern
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.core.redact.rules import Secret

_HEX = load_pattern(rb"(?:[0-9a-fA-F]{2})+$")
_NO_TEXT = load_pattern(rb"[^\t\n\r\x1b -~\x80-\xff]")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_HEAD = 96  # bytes: a long run is decoded only if its head is text
# Blanks at the ends of words with a URL's escapes.
_WORD = bytes(32 if byte in b" \t\n\r\"'`<>()\0\1" else byte for byte in range(256))
_ESCAPE = load_pattern(rb"%([0-9A-Fa-f]{2})")
_BETWEEN = b"\n\n-\n\n"


def decode_text(run: bytes) -> bytes:
    """The text that a run encodes in base64 or hex; b'' if it encodes none."""
    if len(run) < 24 or not _decode(run[:_HEAD]):
        return b""
    return _decode(run)


def _decode(run: bytes) -> bytes:
    body = run.rstrip(b"=")
    try:
        if _HEX.match(run):
            data = bytes.fromhex(run.decode())
        elif len(body) % 4 == 1:
            return b""
        else:
            data = stdlib.binascii.a2b_base64(body.translate(_URL_SAFE) + b"=" * (-len(body) % 4))
    except ValueError:
        return b""
    if _NO_TEXT.search(data):
        return b""
    try:
        data.decode()
    except UnicodeDecodeError as e:
        return data if e.reason == "unexpected end of data" else b""
    return data


def find_escaped(flat: bytes, find: Callable[[bytes], Iterable[Secret]]) -> Iterator[Secret]:
    """Yield (rule, start, end) in a flattened text of the results of find() for its words with the
    escapes of URLs decoded."""
    places = _find_escaped_words(flat)
    decoded = [_ESCAPE.sub(_decode_escape, flat[slice(*place)]) for place in places]
    ends, size = list[int](), 0
    for text in decoded:
        size += len(text) + len(_BETWEEN)
        ends.append(size)
    for rule, start, end in find(_BETWEEN.join(decoded)) if places else ():
        number = stdlib.bisect.bisect_right(ends, start)
        first = ends[number] - len(decoded[number]) - len(_BETWEEN)
        word_start, word = places[number][0], flat[slice(*places[number])]
        begin, stop = (_find_raw_offset(word, offset - first) for offset in (start, end))
        yield rule, word_start + begin, word_start + stop


def _decode_escape(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)])


def _find_escaped_words(flat: bytes) -> list[tuple[int, int]]:
    """The [start, end) of every word with an escape in it."""
    places: list[tuple[int, int]] = []
    words = flat.translate(_WORD) if _ESCAPE.search(flat) else b""
    for escape in _ESCAPE.finditer(words):
        if not places or escape.start() >= places[-1][1]:
            end = words.find(b" ", escape.start())
            start = words.rfind(b" ", 0, escape.start()) + 1
            places.append((start, len(words) if end < 0 else end))
    return places


def _find_raw_offset(word: bytes, offset: int) -> int:
    """The offset in a word for an offset in its decoded text."""
    for escape in _ESCAPE.finditer(word):
        if escape.start() >= offset:
            break
        offset += 2
    return min(offset, len(word))
