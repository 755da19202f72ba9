"""Random runs in a text: keys and tokens without a known form."""

from __future__ import annotations

from itertools import pairwise

from gitcp.checkpoints.redact.rules import find_runs
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.redact.json_values import Span

# bits a byte
RANDOM = 4.5
MIXED = 4.0
_SMALL = b"abcdefghijklmnopqrstuvwxyz \n\t"
_SAMPLE = 128  # bytes of a long run that are judged
# Public by design: ids of messages, calls and payments, digests of packages, addresses of IPFS and
# of a blockchain, keys that ssh publishes.
_PUBLIC = load_pattern(
    rb"[+/=_-]{0,4}(?:"
    rb"(?:(?:srv)?toolu|msg|req|call|fc|rs|resp|chatcmpl|agent|ses)[_-][0-9A-Za-z_]{16,}$"
    rb"|[a-z]{3,4}_[0-9a-f]{12}[0-9A-Za-z]{14}$"
    rb"|(?:pi|ch|cus|sub|evt|in|price|prod|seti|pm|txn|acct)_[0-9A-Za-z]{14,24}$"
    rb"|Qm[1-9A-HJ-NP-Za-km-z]{44}$|bc1[02-9ac-hj-np-z]{39,59}$"
    rb"|sha(?:1|256|384|512)-"
    rb"|AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNhLXNoYTI|GnNrLXNzaC1|InNrLWVjZHNh))"
)
# Words of a language, object names, separators: what paths and identifiers are made of.
_NATURAL = load_pattern(
    rb"[A-Za-z]?(?:[bcdfghj-np-tvwxz]{0,2}[aeiouy]){2,}[a-z]{0,2}"
    rb"|(?:[BCDFGHJ-NP-TVWXZ]{0,2}[AEIOUY]){2,}[A-Z]{0,2}"
    rb"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|[/_=-]"
)
# Where capitals, small letters and digits meet: often in random text, seldom in names.
_EDGE = load_pattern(rb"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])")
_NAME = load_pattern(rb"-{0,2}[A-Za-z_][A-Za-z0-9_-]*=(?=[^=])")
_PART = load_pattern(rb"[^/=]{24,}")
_KINDS = (load_pattern(rb"[0-9].*[0-9]"), load_pattern(rb"[a-z]"), load_pattern(rb"[A-Z]"))


def find_random_part(run: bytes) -> Span | None:
    """The [start, end) within a run that looks random, or None.

    Its entropy is over 4.5 bits a byte, or over 4 if digits, capitals and small letters are well
    mixed (doc/formats.md "Redaction").  Paths, identifiers, object names, UUIDs, alphabets, digests
    of packages and ids of messages are not random.
    """
    if len(set(run)) <= 16:
        return None
    name = _NAME.match(run)
    if name:
        start = name.end()
    else:
        start = len(run) - len(run.lstrip(b"-"))  # of a removed line
    if _PUBLIC.match(run, start):
        return None
    is_random = _is_random(run[start:])
    if is_random and len(run) > _SAMPLE:
        return start, len(run)
    for part in _PART.finditer(run):
        if part.group() == run:
            continue
        if _PUBLIC.match(part.group()):
            is_random = is_random and _is_random(run[start : part.start()] + run[part.end() :])
            continue
        if not _is_random(part.group()):
            continue
        # A slash is a letter of base64; in a path it separates a token from words.
        words = run[start : part.start()] + run[part.end() :]
        if not is_random or compute_natural_share(words) > 0.6:
            return part.span()
    if is_random:
        return start, len(run)
    return None


def is_plain_text(text: bytes) -> bool:
    """Whether what a run encodes is a text of words, not a secret of letters and signs.

    It has three blanks or more, most of it is small letters and blanks, and no word is random."""
    if sum(map(text.count, (b" ", b"\n", b"\t"))) < 3:
        return False
    if len(text.translate(None, _SMALL)) > len(text) / 2:
        return False
    return not any(find_random_part(text[start:end]) for start, end in find_runs(text))


def compute_entropy(run: bytes) -> float:
    """Shannon's entropy of the bytes of run, in bits a byte."""
    import math

    size = len(run)
    log2 = math.log2
    counts = [run.count(byte) for byte in set(run)]
    return log2(size) - sum(n * log2(n) for n in counts) / size


def _is_random(run: bytes) -> bool:
    if len(run) < 22:
        return False
    run = run[:_SAMPLE]
    bits = compute_entropy(run)
    if bits <= MIXED:
        return False
    share = compute_natural_share(run)
    edges = len(_EDGE.findall(run)) / len(run)
    if bits > RANDOM:
        return share < 0.5 and edges > 0.25 and _compute_step_share(run) < 0.4
    is_mixed = share < 0.3 and edges >= 0.45
    if not is_mixed or len(run) < 24 or run[0] in b"/-=":
        return False
    return all(kind.search(run) for kind in _KINDS) and _compute_step_share(run) < 0.4


def compute_natural_share(run: bytes) -> float:
    """The share of bytes in words of a language or in names; 0 for an empty run."""
    return sum(map(len, _NATURAL.findall(run))) / max(1, len(run))


def _compute_step_share(run: bytes) -> float:
    """The share of bytes whose successor is the same or a neighbour in the alphabet."""
    return sum(-1 <= b - a <= 1 for a, b in pairwise(run)) / len(run)
