"""Find the lines of a transcript, or the texts of many, that may have a secret, by a search of the
raw text."""

from __future__ import annotations

from itertools import accumulate

from gitcp.core.redact import secret_values
from gitcp.core.redact.detect import Detector, flatten
from gitcp.core.redact.patterns import load_pattern
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK = 1 << 16  # bytes searched at once: more is not faster, and costs memory
# The raw line does not show all of its values: escapes of a token's letters, and armour, which may
# span values.
_HIDING = [
    (b"\\", load_pattern(rb"\\(?:u00[2-7]|/)")),
    (b"-----BEGIN", load_pattern(rb"-----BEGIN")),
]
# Long values that are never redacted, each with a word before it; quotes within a string are
# escaped, so these are keys.
_STAYING = [
    (b'ignature"', load_pattern(rb'(ignature"\s*:\s*")([^"\\]{64,}+)')),
    (b"encrypted_content", load_pattern(rb'(encrypted_content"\s*:\s*")([^"\\]{64,}+)')),
    (
        b'"base64"',
        load_pattern(
            rb'("type"\s*:\s*"base64"\s*,\s*"media_type"\s*:\s*"image/[^"\\]*"\s*,\s*"data"\s*:\s*")'
            rb'([^"\\]{64,}+)'
        ),
    ),
]
_LINE = load_pattern(rb"[^\n]++")
_BETWEEN = b"\n\n-\n\n"  # ends a run, a line and armour
_EXEMPT = load_pattern(rb'(?i:ids?|signature|encrypted_content)"\s*:\s*"$')


def find_offsets(block: bytes, detector: Detector) -> list[int]:
    """Sorted offsets, at least one in each line of block that a redactor would change."""
    for word, staying in _STAYING:
        if word in block:
            block = staying.sub(lambda match: match[1] + b" " * len(match[2]), block)
    offsets = _find_hidden(block)
    for rule, start, _ in detector.find(flatten(block)):
        if rule != "entropy" or not _EXEMPT.search(block, max(0, start - 64), start):
            offsets.append(start)
    return sorted(offsets)


def find_suspects(texts: Sequence[bytes], detector: Detector) -> list[int]:
    """The sorted numbers of all texts in which a redactor finds a secret, and of a few others.
    Many small texts are searched at once, which is fast."""
    joined = _BETWEEN.join(texts)
    ends = list(accumulate(len(text) + len(_BETWEEN) for text in texts))
    offsets = [*_find_hidden(joined), *(start for _, start, _ in detector.find(flatten(joined)))]
    return sorted({stdlib.bisect.bisect_right(ends, offset) for offset in offsets})


def _find_hidden(block: bytes) -> list[int]:
    """Offsets at which the raw text does not show all of its values."""
    searches = (hiding.finditer(block) for word, hiding in _HIDING if word in block)
    hidden = [match.start() for matches in searches for match in matches]
    return [*hidden, *secret_values.find_separated(block)]


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
