"""Secrets in encoded text: base64, hex, and the escapes of URLs."""

from __future__ import annotations

from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.checkpoints.redact.json_values import Secret, Span

_HEX = load_pattern(rb"(?:[0-9a-fA-F]{2})+$")
_NO_TEXT = load_pattern(rb"[^\t\n\r\x1b -~\x80-\xff]")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_HEAD = 96  # bytes: a long run is decoded only if its head is text


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
            import binascii

            data = binascii.a2b_base64(body.translate(_URL_SAFE) + b"=" * (-len(body) % 4))
    except ValueError:
        return b""
    if _NO_TEXT.search(data):
        return b""
    try:
        data.decode()
    except UnicodeDecodeError as e:
        if e.reason == "unexpected end of data":
            return data
        return b""
    return data


# Blanks at the ends of words with a URL's escapes.
_WORD = bytes(32 if byte in b" \t\n\r\"'`<>()\0\1" else byte for byte in range(256))
_ESCAPE = load_pattern(rb"%([0-9A-Fa-f]{2})")
BETWEEN = b"\n\n-\n\n"  # of texts that are searched at once


def find_escaped(flat: bytes, find: Callable[[bytes], Iterable[Secret]]) -> Iterator[Secret]:
    """Yield (rule, start, end) in a flattened text of the results of find() for its words with the
    escapes of URLs decoded."""
    places = _find_escaped_words(flat)
    if not places:
        return
    decoded = [_ESCAPE.sub(_decode_escape, flat[start:end]) for start, end in places]
    ends = list[int]()
    size = 0
    for text in decoded:
        size += len(text) + len(BETWEEN)
        ends.append(size)
    for rule, start, end in find(BETWEEN.join(decoded)):
        import bisect

        number = bisect.bisect_right(ends, start)
        first = ends[number] - len(decoded[number]) - len(BETWEEN)
        word_start, word_end = places[number]
        word = flat[word_start:word_end]
        begin = _find_raw_offset(word, start - first)
        stop = _find_raw_offset(word, end - first)
        yield rule, word_start + begin, word_start + stop


def _decode_escape(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)])


def _find_escaped_words(flat: bytes) -> list[Span]:
    """The [start, end) of every word with an escape in it."""
    places: list[Span] = []
    if not _ESCAPE.search(flat):
        return places
    words = flat.translate(_WORD)
    end = 0
    for escape in _ESCAPE.finditer(words):
        if escape.start() < end:  # another in the same word
            continue
        start = words.rfind(b" ", 0, escape.start()) + 1
        end = words.find(b" ", escape.start())
        if end < 0:
            end = len(words)
        places.append((start, end))
    return places


def _find_raw_offset(word: bytes, offset: int) -> int:
    """The offset in a word for an offset in its decoded text."""
    for escape in _ESCAPE.finditer(word):
        if escape.start() >= offset:
            break
        offset += 2
    return min(offset, len(word))
