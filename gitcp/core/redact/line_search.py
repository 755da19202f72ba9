"""Find the lines of a transcript, or the texts of many, that may have a secret, by a search of the
raw text."""

from __future__ import annotations

from itertools import accumulate

from gitcp.core.redact import secret_values
from gitcp.core.redact.detect import Detector, flatten_escapes
from gitcp.core.redact.patterns import load_pattern
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK = 1 << 16  # bytes searched at once: more is not faster, and costs memory
# The raw line does not show all of its values: escapes of a token's letters, and armour, which may
# span values.
_HIDING = load_pattern(rb"\\(?:u00[2-7]|/)")
_ARMOUR = load_pattern(rb"-----BEGIN")
# Long values that are never redacted: a word, and a pattern of what is before one, and the value.
# Quotes within a string are escaped, so these are keys.
_STAYING = [
    (b'ignature"', load_pattern(rb'(ignature"\s*:\s*")[^"\\\n]{64,}+')),
    (b"encrypted_content", load_pattern(rb'(encrypted_content"\s*:\s*")[^"\\\n]{64,}+')),
    (
        b'"base64"',
        load_pattern(
            rb'("type"\s*:\s*"base64"\s*,\s*"media_type"\s*:\s*"image/[^"\\\n]*"\s*,\s*"data"\s*:\s*")'
            rb'[^"\\\n]{64,}+'
        ),
    ),
]
_LINE = load_pattern(rb"[^\n]++")
_BETWEEN = b"\n\n-\n\n"  # ends a run, a line and armour
_EXEMPT = load_pattern(rb'(?i:ids?|signature|encrypted_content)"\s*:\s*"$')


def find_offsets(block: bytes, detector: Detector) -> list[int]:
    """Sorted offsets, at least one in each line of block that a redactor would change."""
    text = block
    for word, staying in _STAYING:
        if word in text:
            text = staying.sub(lambda match: match[1], text)
    flat, escapes = flatten_escapes(text)
    offsets = _find_hidden(text, escapes)
    for rule, start, _ in detector.find(flat):
        if rule != "entropy" or not _EXEMPT.search(text, max(0, start - 64), start):
            offsets.append(start)
    if offsets and len(text) < len(block):  # the same lines, some of them longer
        ends, whole = _list_ends(text.split(b"\n"), 1), _list_ends(block.split(b"\n"), 1)
        offsets = [whole[stdlib.bisect.bisect_right(ends, offset)] - 1 for offset in offsets]
    return sorted(offsets)


def find_suspects(texts: Sequence[bytes], detector: Detector) -> list[int]:
    """The sorted numbers of all texts in which a redactor finds a secret, and of a few others.
    Many small texts are searched at once, which is fast."""
    joined = _BETWEEN.join(texts)
    flat, escapes = flatten_escapes(joined)
    ends = _list_ends(texts, len(_BETWEEN))
    offsets = [*_find_hidden(joined, escapes), *(start for _, start, _ in detector.find(flat))]
    return sorted({stdlib.bisect.bisect_right(ends, offset) for offset in offsets})


def _list_ends(texts: Sequence[bytes], between: int) -> list[int]:
    """The end of each text with what is between it and the next, of so many bytes."""
    return list(accumulate(len(text) + between for text in texts))


def _find_hidden(text: bytes, escapes: set[bytes]) -> list[int]:
    """Offsets at which the raw text, which has such escapes, does not show all of its values."""
    patterns = [_ARMOUR, _HIDING] if escapes & {b"\\u", b"\\/"} else [_ARMOUR]
    hidden = [match.start() for pattern in patterns for match in pattern.finditer(text)]
    return [*hidden, *secret_values.find_separated(text)]


def list_line_starts(block: bytes) -> list[int]:
    """The offsets of the lines that are not empty."""
    return [match.start() for match in _LINE.finditer(block)]


def split_blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the [start, end) of blocks of whole lines, without the last newline."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + BLOCK)
        end = len(data) if end < 0 else end
        yield start, end
        start = end + 1
