"""Redact secrets in transcripts, prompts and subjects before they are stored.

The raw line of a transcript is searched first, which is fast.  Its JSON is parsed only if that
finds a secret or an escape may hide one.
"""

from __future__ import annotations

from itertools import accumulate, chain

from gitcp.checkpoints.redact.assigned import find_assigned, find_separated
from gitcp.checkpoints.redact.encoded import BETWEEN, decode_text, find_escaped
from gitcp.checkpoints.redact.random_runs import find_random_part, is_plain_text
from gitcp.checkpoints.redact.rules import Rules, find_runs
from gitcp.text.ids import start_sha256
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from gitcp.checkpoints.redact.json_values import Secret, Span
    from gitcp.checkpoints.redact.options import Find
    from gitcp.checkpoints.redact.personal import Personal

REDACTED = b"REDACTED"
_COLOUR = load_pattern(rb"\x1b\[[0-9;]{0,16}m")
_ESCAPED_COLOUR = load_pattern(rb"\\u001[bB]\[[0-9;]{0,16}m")
_UNICODE = load_pattern(rb"\\u[0-9A-Fa-f]{4}")
_ESCAPES = {b"\\t": b"  ", b"\\r": b"\n\n", b"\\f": b"  ", b"\\b": b"  "}
_OTHER = load_pattern(rb'\\[^"\\]')  # one search is faster than one for each
_BLANK = bytes(0 if byte == 0x5C else byte for byte in range(256))
# Before random data that is public: digests, pictures, addresses of documents.
_PUBLIC_KEYS = load_pattern(rb"(?:h1:|SHA256:|data:image/[a-z0-9.+-]{1,40};base64,)$")
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
    return _Flat(text).text


class _Flat:
    """A text as flatten() makes it.  escapes: the kinds that were in it, each a backslash and a
    letter; those of newlines, quotes and backslashes are not listed."""

    __slots__ = ("escapes", "text")

    def __init__(self, text: bytes) -> None:
        text = text.replace(b"\\n", b"\n\n")
        self.escapes = set(_OTHER.findall(text))
        if b"\x1b" in text:
            text = _COLOUR.sub(_make_blanks, text)
        if b"\\u" in self.escapes:
            text = _ESCAPED_COLOUR.sub(_make_blanks, text)
            text = _UNICODE.sub(b"      ", text)
        for escape in self.escapes & _ESCAPES.keys():
            text = text.replace(escape, _ESCAPES[escape])
        if b"\\" in text:
            text = text.translate(_BLANK)
        self.text = text.replace(REDACTED, b"\1" * len(REDACTED))


def _make_blanks(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])


def merge_secrets(secrets: Iterable[Secret]) -> list[Secret]:
    """The secrets sorted, with overlapping and adjacent ones merged under the first one's name."""
    out: list[Secret] = []
    for rule, start, end in sorted(secrets, key=_get_span):
        if out:
            last_rule, last_start, last_end = out[-1]
            if start <= last_end:
                out[-1] = (last_rule, last_start, max(end, last_end))
                continue
        out.append((rule, start, end))
    return out


def _get_span(secret: Secret) -> Span:
    _, start, end = secret
    return start, end


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


def _is_public(flat: bytes, run: int, offset: int, armour: list[Span]) -> bool:
    """Whether a random part at an offset of the run that begins at `run` is public."""
    if any(start <= offset < end for start, end in armour):
        return True
    if _PUBLIC_KEYS.search(flat, max(0, run - 64), run):
        return True
    document = _DOCUMENT.search(flat, max(0, run - 24), run + 80)
    return document is not None and document.start() < run < document.end()


class Detector:
    """The built-in rules, with a cache of judged words."""

    def __init__(self) -> None:
        self._rules = Rules()
        self._known: dict[bytes, Sequence[Secret]] = {}
        self._size = 0

    def find(self, flat: bytes) -> Iterator[Secret]:
        """Yield (rule, start, end) in a flattened text, in no order, in linear time.

        Rules are those of secrets.json, `assignment`, `entropy`, and `encoded` for base64 or hex
        of a text with a secret.
        """
        spans = find_runs(flat)
        secrets = self._judge_words({flat[start:end] for start, end in spans})
        if secrets:
            armour = [match.span() for match in _ARMOUR.finditer(flat)]
            for start, end in spans:
                for rule, a, b in secrets.get(flat[start:end], ()):
                    if rule != "entropy" or not _is_public(flat, start, start + a, armour):
                        yield rule, start + a, start + b
        yield from self._rules.find_in_text(flat, spans)
        for start, end in find_assigned(flat):
            yield "assignment", start, end
        yield from find_escaped(flat, self.find_formats)

    def is_encoded_secret(self, run: bytes) -> bool:
        """Whether a run is base64 or hex of a text with a secret."""
        text = decode_text(run)
        if not text:
            return False
        flat = flatten(text)
        for _ in chain(self.find_formats(flat), find_assigned(flat)):
            return True
        return False

    def find_formats(self, flat: bytes) -> Iterator[Secret]:
        """Yield (rule, start, end) of the matches of secrets.json alone."""
        spans = find_runs(flat)
        secrets = self._match_words({flat[start:end] for start, end in spans})
        if secrets:
            for start, end in spans:
                for rule, a, b in secrets.get(flat[start:end], ()):
                    yield rule, start + a, start + b
        yield from self._rules.find_in_text(flat, spans)

    def _match_words(self, words: Collection[bytes]) -> dict[bytes, list[Secret]]:
        """The words in which a rule finds a secret, with those."""
        secrets: dict[bytes, list[Secret]] = {}
        for word, secret in self._rules.find_in_words(words):
            secrets.setdefault(word, []).append(secret)
        return secrets

    def _judge_words(self, words: set[bytes]) -> dict[bytes, Sequence[Secret]]:
        """The words that have secrets, with those; each word is judged once."""
        if self._size > _CACHE:
            self._known = {}
            self._size = 0
        new = [word for word in words.difference(self._known) if not _UUID.match(word)]
        matched = self._match_words(new)
        for word in new:
            # A rule is more exact; the rest of the run is judged in the next pass.
            self._known[word] = matched.get(word) or self._judge_word(word)
            self._size += len(word)
        judged: dict[bytes, Sequence[Secret]] = {}
        for word in words:
            secrets = self._known.get(word)
            if secrets:
                judged[word] = secrets
        return judged

    def _judge_word(self, word: bytes) -> Sequence[Secret]:
        part = find_random_part(word)
        if part != (0, len(word)) and self.is_encoded_secret(word):
            return [("encoded", 0, len(word))]
        if part is None:
            return ()
        start, end = part
        text = decode_text(word[start:end])
        if is_plain_text(text) and not self.is_encoded_secret(word[start:end]):
            return ()
        return [("entropy", start, end)]


# Find the lines of a transcript, or the texts of many, that may have a secret, by a search of the
# raw text.
BLOCK = 1 << 16  # bytes searched at once: more is not faster, and costs memory
# The raw line does not show all of its values: escapes of a token's letters, and armour, which may
# span values.
_HIDING = load_pattern(rb"\\(?:u00[2-7]|/)")
_ARMOUR_LINE = load_pattern(rb"-----BEGIN")
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
_EXEMPT = load_pattern(rb'(?i:ids?|signature|encrypted_content)"\s*:\s*"$')


def find_offsets(block: bytes, detector: Detector) -> list[int]:
    """Sorted offsets, at least one in each line of block that a redactor would change."""
    text = block
    for word, staying in _STAYING:
        if word in text:
            text = staying.sub(lambda match: match[1], text)
    flat = _Flat(text)
    offsets = _find_hidden(text, flat.escapes)
    for rule, start, _ in detector.find(flat.text):
        if rule != "entropy" or not _EXEMPT.search(text, max(0, start - 64), start):
            offsets.append(start)
    if offsets and len(text) < len(block):  # the same lines, some of them longer
        ends = _list_ends(text.split(b"\n"), 1)
        whole = _list_ends(block.split(b"\n"), 1)
        import bisect

        offsets = [whole[bisect.bisect_right(ends, offset)] - 1 for offset in offsets]
    return sorted(offsets)


def find_suspect_texts(texts: Sequence[bytes], detector: Detector) -> list[int]:
    """The sorted numbers of all texts in which a redactor finds a secret, and of a few others.
    Many small texts are searched at once, which is fast."""
    joined = BETWEEN.join(texts)
    flat = _Flat(joined)
    ends = _list_ends(texts, len(BETWEEN))
    offsets = _find_hidden(joined, flat.escapes)
    offsets += [start for _, start, _ in detector.find(flat.text)]
    import bisect

    return sorted({bisect.bisect_right(ends, offset) for offset in offsets})


def _list_ends(texts: Sequence[bytes], between: int) -> list[int]:
    """The end of each text with what is between it and the next, of so many bytes."""
    return list(accumulate(len(text) + between for text in texts))


def _find_hidden(text: bytes, escapes: set[bytes]) -> list[int]:
    """Offsets at which the raw text, which has such escapes, does not show all of its values."""
    hidden = [match.start() for match in _ARMOUR_LINE.finditer(text)]
    if escapes & {b"\\u", b"\\/"}:
        hidden += [match.start() for match in _HIDING.finditer(text)]
    hidden += find_separated(text)
    return hidden


def list_line_starts(block: bytes) -> list[int]:
    """The offsets of the lines that are not empty."""
    return [match.start() for match in _LINE.finditer(block)]


def split_blocks(data: bytes) -> Iterator[Span]:
    """Yield the [start, end) of blocks of whole lines, without the last newline."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + BLOCK)
        if end < 0:
            end = len(data)
        yield start, end
        start = end + 1


_DONE = load_pattern(REDACTED)
# The keys of AWS's documentation, and what may stand between them and around them.
_EXAMPLES = load_pattern(
    rb"(?:(?:AKIA|ASIA)(?:IOSFODNN7|I44QH8DHB)EXAMPLE"
    rb"|wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY|je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"
    rb"|[^0-9A-Za-z])+"
)


def _compile_options(option: str, sources: Sequence[str]) -> list[Find]:
    if not sources:
        return []
    from gitcp.checkpoints.redact.options import compile_option

    return [compile_option(option, source) for source in sources]


class Redactor:
    """The built-in rules, the person's own, and the patterns of allowed findings."""

    def __init__(
        self,
        rules: Sequence[str] = (),
        allow: Sequence[str] = (),
        personal: Personal | None = None,
        pictures: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """rules and allow are regular expressions (git config gitcp.redact, gitcp.redact-allow).

        The first group of a rule, if it has one, is the secret.  A finding in which an allow
        pattern matches is not redacted.  Raise InputError, which names it, for an invalid pattern.
        personal: the rules for personal data; pictures: replaces pictures in lines.
        """
        self._own = _compile_options("gitcp.redact", rules)
        self._allow = _compile_options("gitcp.redact-allow", allow)
        self._personal = personal
        self._pictures = pictures
        self._detector = Detector()
        self._clean: set[bytes] = set()  # digests of blocks in which nothing was found

    def bind_session(self, session: str) -> Redactor:
        """The same rules, with tokens of personal data keyed by a session."""
        if self._personal:
            return _SessionRedactor(self, self._personal.bind_session(session))
        return self

    def redact_text(self, data: bytes) -> bytes:
        """A plain text, such as a prompt, redacted."""
        return replace_secrets(
            data, self._find_in_text, self._choose_replacement, bool(self._personal)
        )

    def redact_jsonl(self, data: bytes) -> bytes:
        """A transcript with the strings of each line redacted; appending lines does not change the
        result for the earlier ones."""
        if self._pictures:
            data = self._pictures(data)
        pieces: list[bytes] = []
        position = 0
        for start, end in self._find_suspect_lines(data, persons=bool(self._personal)):
            pieces += (data[position:start], self._redact_json(data[start:end]))
            position = end
        return b"".join((*pieces, data[position:]))

    def redact_document(self, data: bytes) -> bytes:
        """A JSON text of any number of lines, redacted; other data is redacted as plain text."""
        if self._pictures:
            data = self._pictures(data)
        return self._redact_json(data)

    def _redact_json(self, data: bytes) -> bytes:
        from gitcp.checkpoints.redact import json_values

        find: Callable[[bytes, bool], list[Secret]] = self._find_in_text
        if json_values.is_well_formed(data):
            find = self._find_in_json
        return replace_secrets(data, find, self._choose_replacement, bool(self._personal))

    def _choose_replacement(self, rule: str, data: bytes) -> bytes:
        if self._personal and ":" in rule:
            return self._personal.make_token(rule, data)
        return REDACTED

    def find(self, data: bytes, kind: str = "text") -> list[Secret]:
        """The sorted (rule, start, end) of secrets that would be redacted; kind: text, jsonl,
        document, or own for a document of gitcp.  Rules are those of Detector.find(), and `custom`
        for the person's own."""
        if kind == "jsonl":
            secrets: list[Secret] = []
            for start, end in self._find_suspect_lines(data, self._clean):
                for rule, a, b in self.find(data[start:end], "document"):
                    secrets.append((rule, start + a, start + b))
            return secrets

        from gitcp.checkpoints.redact import json_values

        if kind in ("document", "own") and json_values.is_well_formed(data):
            return self._find_in_json(data, own=kind == "own")
        return self._find_in_text(data)

    def find_suspects(self, texts: Sequence[bytes]) -> list[int]:
        """The numbers of the texts in which find() may find secrets; in the others it finds none.
        Many small texts are searched at once."""
        if self._own:
            return list(range(len(texts)))
        return find_suspect_texts(texts, self._detector)

    def _find_in_text(self, text: bytes, persons: bool = False) -> list[Secret]:
        flat = flatten(text)
        secrets = (
            *self._detector.find(flat),
            *self._find_custom(text),
            *self._find_persons(flat, persons),
        )
        return self._drop_allowed(text, secrets)

    def _find_in_names(self, text: bytes, persons: bool = False) -> list[Secret]:
        flat = flatten(text)
        secrets = (*self._detector.find_formats(flat), *self._find_persons(flat, persons))
        return self._drop_allowed(text, secrets)

    def _find_persons(self, flat: bytes, persons: bool) -> Iterable[Secret]:
        if persons and self._personal:
            return self._personal.find(flat)
        return ()

    def _drop_allowed(self, text: bytes, secrets: Iterable[Secret]) -> list[Secret]:
        left: list[Secret] = []
        for rule, start, end in secrets:
            is_example = rule != "custom" and _EXAMPLES.fullmatch(text, start, end)
            if not is_example and not self._is_allowed(text[start:end]):
                left.append((rule, start, end))
        return merge_secrets(left)

    def _is_allowed(self, secret: bytes) -> bool:
        return any(any(find(secret)) for find in self._allow)

    def _find_in_json(self, data: bytes, persons: bool = False, own: bool = False) -> list[Secret]:
        from gitcp.checkpoints.redact import json_values

        strings = json_values.Strings(data, own)
        joined = json_values.Joined(data, strings.values)
        out = joined.map_to_raw(self._find_in_text(joined.text, persons))
        joined = json_values.Joined(data, strings.names)
        out += joined.map_to_raw(self._find_in_names(joined.text, persons))
        for start, end, _ in strings.documents:
            if start < end and self._detector.is_encoded_secret(data[start:end]):
                out.append(("encoded", start, end))
        return sorted(out, key=_get_span)

    def _find_custom(self, text: bytes) -> Iterator[Secret]:
        if not self._own:
            return
        done = [match.span() for match in _DONE.finditer(text)]
        for find in self._own:
            for start, end in find(text):
                is_done = any(a <= start and end <= b for a, b in done)
                if start < end and not is_done:
                    yield "custom", start, end

    def _find_suspect_lines(
        self, data: bytes, clean: set[bytes] | None = None, persons: bool = False
    ) -> Iterator[Span]:
        """Yield the [start, end) of each line, without its newline, that may have a secret.

        clean: digests of blocks without secrets, which are skipped and added.
        """
        for start, end in split_blocks(data):
            block = data[start:end]
            digest = b""
            if clean is not None:
                digest = start_sha256(block).digest()
                if digest in clean:
                    continue
            offsets = self._find_offsets(block, persons)
            if clean is not None and not offsets:
                clean.add(digest)
            done = -1
            for offset in offsets:
                if offset <= done:  # in the same line
                    continue
                done = block.find(b"\n", offset)
                if done < 0:
                    done = len(block)
                yield start + block.rfind(b"\n", 0, offset) + 1, start + done

    def _find_offsets(self, block: bytes, persons: bool) -> list[int]:
        if self._own:
            return list_line_starts(block)
        if not persons or not self._personal:
            return find_offsets(block, self._detector)
        if self._personal.hides and b"\\u" in block:
            return list_line_starts(block)
        offsets = find_offsets(block, self._detector)
        offsets += [start for _, start, _ in self._personal.find(flatten(block))]
        return sorted(offsets)


class _SessionRedactor(Redactor):
    """A Redactor with the rules of another, and tokens of personal data of its own."""

    def __init__(self, of: Redactor, personal: Personal) -> None:
        self._own = of._own
        self._allow = of._allow
        self._personal = personal
        self._pictures = of._pictures
        self._detector = of._detector
        self._clean = of._clean
