"""Which lines of a transcript, or which of many texts, may hold a secret, from a search of them
as they are."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from gitcp.core.redact import secret_values
from gitcp.core.redact.detect import Detector, flatten
from gitcp.core.redact.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK = 1 << 16  # bytes searched at once: more is not faster, and costs memory
# Escapes of letters a token may be made of, and a key that may span values: where the raw line
# does not show everything its values say.
_HIDING = [load_pattern(shape) for shape in (rb"\\u00[2-7]", rb"\\/", rb"-----BEGIN")]
# Long values that stay in any case; quotes within a string are escaped, so these are keys.
_STAYING = [
    load_pattern(rb'(ignature"\s*:\s*")([^"\\]{64,}+)'),
    load_pattern(rb'(encrypted_content"\s*:\s*")([^"\\]{64,}+)'),
    load_pattern(
        rb'("type"\s*:\s*"base64"\s*,\s*"media_type"\s*:\s*"image/[^"\\]*"\s*,\s*"data"\s*:\s*")'
        rb'([^"\\]{64,}+)'
    ),
]
_LINE = load_pattern(rb"[^\n]++")
_BETWEEN = b"\n\n-\n\n"  # ends whatever a rule looks at: a run, a line, armour
_EXEMPT = load_pattern(rb'(?i:ids?|signature|encrypted_content)"\s*:\s*"$')


def find_offsets(block: bytes, detector: Detector) -> list[int]:
    """Offsets, sorted, into every line of block that a redactor would change, and a few others.

    Values of ids and signatures are passed over where that is cheap to see.
    """
    for staying in _STAYING:
        block = staying.sub(lambda match: match[1] + b" " * len(match[2]), block)
    offsets = _find_hidden(block)
    for rule, start, _ in detector.find(flatten(block)):
        if rule != "entropy" or not _EXEMPT.search(block, max(0, start - 64), start):
            offsets.append(start)
    return sorted(offsets)


def find_suspects(texts: Sequence[bytes], detector: Detector) -> list[int]:
    """The numbers, in order, of every text in which a redactor finds something, and of a few
    others: many small texts are searched at once, which is fast.  What is exempt counts too."""
    joined = _BETWEEN.join(texts)
    ends = list(accumulate(len(text) + len(_BETWEEN) for text in texts))
    offsets = [*_find_hidden(joined), *(start for _, start, _ in detector.find(flatten(joined)))]
    return sorted({bisect_right(ends, offset) for offset in offsets})


def _find_hidden(block: bytes) -> list[int]:
    """Where the text as it stands does not show all that its values say."""
    hidden = [match.start() for hiding in _HIDING for match in hiding.finditer(block)]
    return [*hidden, *secret_values.find_separated(block)]


def list_line_starts(block: bytes) -> list[int]:
    """Where the lines with something in them begin."""
    return [match.start() for match in _LINE.finditer(block)]


def split_blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the [start, end) of stretches of whole lines, without the last newline."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + BLOCK)
        end = len(data) if end < 0 else end
        yield at, end
        at = end + 1
