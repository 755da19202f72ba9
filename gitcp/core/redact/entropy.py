"""Find random runs in a text: keys and tokens without a known format."""

from __future__ import annotations

from itertools import pairwise

from gitcp.core.redact.patterns import load_pattern
from gitcp.start import stdlib

RANDOM, MIXED = 4.5, 4.0  # bits a byte
_SAMPLE = 128  # bytes of a long run that are judged
# Public by design: ids of messages and calls, digests of packages, keys that ssh publishes.
_PUBLIC = load_pattern(
    rb"[+/=_-]{0,4}(?:"
    rb"(?:(?:srv)?toolu|msg|req|call|fc|rs|resp|chatcmpl|agent|ses)[_-][0-9A-Za-z_]{16,}$"
    rb"|[a-z]{3,4}_[0-9a-f]{12}[0-9A-Za-z]{14}$"
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


def find_random_part(run: bytes) -> tuple[int, int] | None:
    """The [start, end) within a run that looks random, or None.

    Its entropy is over 4.5 bits a byte, or over 4 if digits, capitals and small letters are well
    mixed (doc/formats.md "Redaction").  Paths, identifiers, object names, UUIDs, alphabets, digests
    of packages and ids of messages are not random.
    """
    if len(set(run)) <= 16:
        return None
    name = _NAME.match(run)
    start = name.end() if name else len(run) - len(run.lstrip(b"-"))  # of a removed line
    if _PUBLIC.match(run, start):
        return None
    is_random = _is_random(run[start:])
    if is_random and len(run) > _SAMPLE:
        return start, len(run)
    for part in _PART.finditer(run):
        if part.group() == run or _PUBLIC.match(part.group()) or not _is_random(part.group()):
            continue
        # A slash is a letter of base64; in a path it separates a token from words.
        words = run[start : part.start()] + run[part.end() :]
        if not is_random or compute_natural_share(words) > 0.6:
            return part.span()
    return (start, len(run)) if is_random else None


def compute_entropy(run: bytes) -> float:
    """Shannon's entropy of the bytes of run, in bits a byte."""
    size, log2 = len(run), stdlib.math.log2
    counts = [run.count(byte) for byte in set(run)]
    return log2(size) - sum(n * log2(n) for n in counts) / size


def _is_random(run: bytes) -> bool:
    if len(run) < 22:
        return False
    run = run[:_SAMPLE]
    bits = compute_entropy(run)
    if bits <= MIXED:
        return False
    share, edges = compute_natural_share(run), len(_EDGE.findall(run)) / len(run)
    if bits > RANDOM:
        return share < 0.5 and edges > 0.25 and _compute_step_share(run) < 0.4
    if len(run) < 24 or share >= 0.3 or edges < 0.45 or run[0] in b"/-=":
        return False
    return all(kind.search(run) for kind in _KINDS) and _compute_step_share(run) < 0.4


def compute_natural_share(run: bytes) -> float:
    """The share of bytes in words of a language or in names; 0 for an empty run."""
    return sum(map(len, _NATURAL.findall(run))) / max(1, len(run))


def _compute_step_share(run: bytes) -> float:
    """The share of bytes whose successor is the same or a neighbour in the alphabet."""
    return sum(-1 <= b - a <= 1 for a, b in pairwise(run)) / len(run)
