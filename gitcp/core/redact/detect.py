"""Find secrets in a text: by formats, by the names of assigned values, and by randomness."""

from __future__ import annotations

from itertools import chain

from gitcp.core.redact import encodings, entropy, rules, secret_values
from gitcp.core.redact.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.redact.rules import Secret

REDACTED = b"REDACTED"
_COLOUR = load_pattern(rb"\x1b\[[0-9;]{0,16}m")
_ESCAPED_COLOUR = load_pattern(rb"\\u001[bB]\[[0-9;]{0,16}m")
_UNICODE = load_pattern(rb"\\u[0-9A-Fa-f]{4}")
_ESCAPES = {b"\\t": b"  ", b"\\r": b"\n\n", b"\\f": b"  ", b"\\b": b"  "}
_OTHER = load_pattern(rb'\\[^"\\]')  # one search is faster than one for each
_BLANK = bytes(0 if byte == 0x5C else byte for byte in range(256))
# Before random data that is public: digests, pictures, addresses of documents.
_PUBLIC = load_pattern(rb"(?:h1:|SHA256:|data:image/[a-z0-9.+-]{1,40};base64,)$")
_DOCUMENT = load_pattern(
    rb"(?:(?:docs|drive|sheets|slides|forms)[.]google|figma|miro|canva)[.]com/(?:[a-z0-9]{1,20}/){1,4}"
)
# Armour of public data: certificates, public keys, signatures.
_ARMOUR = load_pattern(
    rb"-----BEGIN (?![A-Z0-9 ]{0,40}PRIVATE)[A-Z0-9 ]{3,40}-----"
    rb"(?:[^0-9A-Za-z+/=-]{1,24}[0-9A-Za-z+/=]{1,80}){1,2000}"
)
# Most runs of a transcript.  Hex digits and hyphens hold no keyword, nor the base64 of one.
_UUID = load_pattern(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_PASSES = 8
_CACHE = 1 << 23  # bytes of runs


def flatten(text: bytes) -> bytes:
    """The text that detectors search, of the same length.

    Escapes of JSON become their characters or separators at any depth, so that a token after `\\n`
    does not begin with an n.  Colours and REDACTED become separators, too.
    """
    return flatten_escapes(text)[0]


def flatten_escapes(text: bytes) -> tuple[bytes, set[bytes]]:
    """(the flattened text, the kinds of escapes in it, each a backslash and a letter); those of
    newlines, quotes and backslashes are not listed."""
    text = text.replace(b"\\n", b"\n\n")
    escapes = set(_OTHER.findall(text))
    if b"\x1b" in text:
        text = _COLOUR.sub(_make_blanks, text)
    if b"\\u" in escapes:
        text = _ESCAPED_COLOUR.sub(_make_blanks, text)
        text = _UNICODE.sub(b"      ", text)
    for escape in escapes & _ESCAPES.keys():
        text = text.replace(escape, _ESCAPES[escape])
    if b"\\" in text:
        text = text.translate(_BLANK)
    return text.replace(REDACTED, b"\1" * len(REDACTED)), escapes


def _make_blanks(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])


def merge_secrets(secrets: Iterable[Secret]) -> list[Secret]:
    """The secrets sorted, with overlapping and adjacent ones merged under the first one's name."""
    out: list[Secret] = []
    for rule, start, end in sorted(secrets, key=lambda item: item[1:]):
        if out and start <= out[-1][2]:
            out[-1] = (*out[-1][:2], max(end, out[-1][2]))
        else:
            out.append((rule, start, end))
    return out


def replace_secrets(
    data: bytes,
    find: Callable[[bytes, bool], Iterable[Secret]],
    replacement: Callable[[str, bytes], bytes],
    persons: bool,
) -> bytes:
    """Replace secrets until find() finds none, so that a repetition changes nothing.  persons:
    passed to find(), whether it searches for personal data, too."""
    for _ in range(_PASSES):
        pieces: list[bytes] = []
        position = 0
        for rule, start, end in find(data, persons):
            pieces += (data[position:start], replacement(rule, data[start:end]))
            position = end
        if not pieces:
            break
        data = b"".join((*pieces, data[position:]))
    return data


def _is_public(flat: bytes, run: int, offset: int, armour: list[tuple[int, int]]) -> bool:
    """Whether a random part at an offset of the run that begins at `run` is public."""
    if any(start <= offset < end for start, end in armour):
        return True
    if _PUBLIC.search(flat, max(0, run - 64), run):
        return True
    document = _DOCUMENT.search(flat, max(0, run - 24), run + 80)
    return document is not None and document.start() < run < document.end()


class Detector:
    """The built-in rules, with a cache of judged words."""

    def __init__(self) -> None:
        self._formats = rules.Formats()
        self._known: dict[bytes, Sequence[Secret]] = {}
        self._size = 0

    def find(self, flat: bytes) -> Iterator[Secret]:
        """Yield (rule, start, end) in a flattened text, in no order, in linear time.

        Rules are those of secrets.json, `assignment`, `entropy`, and `encoded` for base64 or hex
        of a text with a secret.
        """
        spans = rules.find_runs(flat)
        secrets = self._judge_words({flat[start:end] for start, end in spans})
        armour = [match.span() for match in _ARMOUR.finditer(flat)] if secrets else []
        for start, end in spans if secrets else ():
            for rule, a, b in secrets.get(flat[start:end], ()):
                if rule != "entropy" or not _is_public(flat, start, start + a, armour):
                    yield rule, start + a, start + b
        yield from self._formats.find_in_text(flat, spans)
        yield from (("assignment", *span) for span in secret_values.find_assigned(flat))
        yield from encodings.find_escaped(flat, self.find_formats)

    def is_encoded_secret(self, run: bytes) -> bool:
        """Whether a run is base64 or hex of a text with a secret."""
        if not (text := encodings.decode_text(run)):
            return False
        flat = flatten(text)
        return any(True for _ in chain(self.find_formats(flat), secret_values.find_assigned(flat)))

    def find_formats(self, flat: bytes) -> Iterator[Secret]:
        """Yield (rule, start, end) of the matches of secrets.json alone."""
        spans = rules.find_runs(flat)
        of_word: dict[bytes, list[Secret]] = {}
        for word, item in self._formats.find_in_words({flat[start:end] for start, end in spans}):
            of_word.setdefault(word, []).append(item)
        for start, end in spans if of_word else ():
            for rule, a, b in of_word.get(flat[start:end], ()):
                yield rule, start + a, start + b
        yield from self._formats.find_in_text(flat, spans)

    def _judge_words(self, words: set[bytes]) -> dict[bytes, Sequence[Secret]]:
        """The words that have secrets, with those; each word is judged once."""
        if self._size > _CACHE:
            self._known, self._size = {}, 0
        new = [word for word in words if word not in self._known and not _UUID.match(word)]
        of_word: dict[bytes, list[Secret]] = {}
        for word, item in self._formats.find_in_words(new):
            of_word.setdefault(word, []).append(item)
        for word in new:
            # A format is more exact; the rest of the run is judged in the next pass.
            self._known[word] = of_word.get(word) or self._judge_word(word)
            self._size += len(word)
        return {word: secrets for word in words if (secrets := self._known.get(word))}

    def _judge_word(self, word: bytes) -> Sequence[Secret]:
        part = entropy.find_random_part(word)
        if part != (0, len(word)) and self.is_encoded_secret(word):
            return [("encoded", 0, len(word))]
        return [("entropy", *part)] if part else ()
