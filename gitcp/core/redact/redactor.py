"""Redact secrets in transcripts, prompts and subjects before they are stored.

The raw line of a transcript is searched first, which is fast.  Its JSON is parsed only if that
finds a secret or an escape may hide one.
"""

from __future__ import annotations

from itertools import accumulate

from gitcp.core import json
from gitcp.core.formats import start_sha256
from gitcp.core.redact import rules
from gitcp.core.redact.rules import (
    REDACTED,
    Detector,
    flatten,
    flatten_escapes,
    merge_secrets,
    replace_secrets,
)
from gitcp.patterns import compile_option, load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.redact.personal import Personal
    from gitcp.core.redact.rules import Secret

    Value = tuple[int, int, bytes]

# Find the string values in a JSON text, and decode them.
_TOKEN = load_pattern(rb'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}\[\]]')
_ESCAPE = load_pattern(rb"\\(?:u([0-9A-Fa-f]{4})|(.))")
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


def list_values(data: bytes, own: bool = False) -> tuple[list[Value], list[Value], list[Value]]:
    """(values, names, documents): (start, end, key) of each string: its span without the quotes,
    its key with them.

    data is well-formed.  values may be redacted.  names and ids may look random and are secret only
    by a format.  documents, in an object whose `type` begins with image, are secret only if they
    are base64 of a text with a secret.  own: in a document of gitcp, paths and branches are names,
    too.  Long values of keys that end in signature or are `encrypted_content`, which an agent
    needs back, are left out (doc/formats.md "Redaction").
    """
    spans: list[Value] = []
    names: list[Value] = []
    documents: list[Value] = []
    stack: list[tuple[bytes, bytes, int, bool]] = []
    kind, key, first, image = b"", b"", 0, False
    for match in _TOKEN.finditer(data):
        string = match[1]
        if string is None:
            mark = match[0]
            if mark in b"{[":
                stack.append((kind, key, first, image))
                kind, key, first, image = mark, key if mark == b"[" else b"", len(spans), False
            else:
                if image:
                    documents += spans[first:]
                    del spans[first:]
                kind, key, first, image = stack.pop()
        elif match[2] is not None:
            key = string
            if len(string) > _LABEL:
                names.append((match.start() + 1, match.start() + len(string) - 1, b'""'))
        else:
            if kind == b"{" and key == b'"type"' and _IMAGE.match(string):
                image = True
            span = (match.start() + 1, match.start() + len(string) - 1, key)
            if not (opaque := (own and _OWN.match(key)) or _OPAQUE.search(key)):
                spans.append(span)
            elif opaque[1] or len(string) < _CIPHERTEXT:
                names.append(span)
    return spans, names, documents


class Decoded:
    """A string value without its escapes, with the raw offset of each byte."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._end = end
        self._here, self._there, self._whole = [0], [start], [False]
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

    def find_raw_span(self, start: int, end: int) -> tuple[int, int]:
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
        return self._there[index + 1] if up and past else self._there[index]


def _decode_escape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return chr(int(match[1], 16)).encode("utf-8", "surrogatepass")
    return _CONTROL.get(match[2], match[2])


def join_values(
    data: bytes, places: list[Value]
) -> tuple[bytes, Iterator[tuple[int, int, Decoded]]]:
    """(text, parts): the values at places joined in a text, and (start, end, value) of each in it.

    A value has lines of its own, as `"key": "value"`, so that its key is searched with it.
    """
    pieces: list[bytes] = []
    parts: list[tuple[int, int, Decoded]] = []
    size = 0
    for start, end, key in places:
        value = Decoded(data, start, end)
        head = b"\n\n" + key + b': "'
        size += len(head)
        parts.append((size, size + len(value.text), value))
        size += len(value.text) + 1
        pieces += (head, value.text, b'"')
    return b"".join(pieces), iter(parts)


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
        import bisect

        offsets = [whole[bisect.bisect_right(ends, offset)] - 1 for offset in offsets]
    return sorted(offsets)


def find_suspects(texts: Sequence[bytes], detector: Detector) -> list[int]:
    """The sorted numbers of all texts in which a redactor finds a secret, and of a few others.
    Many small texts are searched at once, which is fast."""
    joined = _BETWEEN.join(texts)
    flat, escapes = flatten_escapes(joined)
    ends = _list_ends(texts, len(_BETWEEN))
    offsets = [*_find_hidden(joined, escapes), *(start for _, start, _ in detector.find(flat))]
    import bisect

    return sorted({bisect.bisect_right(ends, offset) for offset in offsets})


def _list_ends(texts: Sequence[bytes], between: int) -> list[int]:
    """The end of each text with what is between it and the next, of so many bytes."""
    return list(accumulate(len(text) + between for text in texts))


def _find_hidden(text: bytes, escapes: set[bytes]) -> list[int]:
    """Offsets at which the raw text, which has such escapes, does not show all of its values."""
    patterns = [_ARMOUR_LINE, _HIDING] if escapes & {b"\\u", b"\\/"} else [_ARMOUR_LINE]
    hidden = [match.start() for pattern in patterns for match in pattern.finditer(text)]
    return [*hidden, *rules.find_separated(text)]


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


_DONE = load_pattern(REDACTED)
# The keys of AWS's documentation, and what may stand between them and around them.
_EXAMPLES = load_pattern(
    rb"(?:(?:AKIA|ASIA)(?:IOSFODNN7|I44QH8DHB)EXAMPLE"
    rb"|wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY|je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"
    rb"|[^0-9A-Za-z])+"
)


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
        self._own = [compile_option("gitcp.redact", rule) for rule in rules]
        self._allow = [compile_option("gitcp.redact-allow", rule) for rule in allow]
        self._personal, self._pictures = personal, pictures
        self._detector = Detector()
        self._clean: set[bytes] = set()  # digests of blocks in which nothing was found

    def bind_session(self, session: str) -> Redactor:
        """The same rules, with tokens of personal data keyed by a session."""
        if not self._personal:
            return self
        other = Redactor.__new__(Redactor)
        other.__dict__.update(self.__dict__)
        other._personal = self._personal.bind_session(session)
        return other

    def redact_text(self, data: bytes) -> bytes:
        """A plain text, such as a prompt, redacted."""
        return replace_secrets(
            data, self._find_in_text, self._choose_replacement, bool(self._personal)
        )

    def redact_jsonl(self, data: bytes) -> bytes:
        """A transcript with the strings of each line redacted; appending lines does not change the
        result for the earlier ones."""
        data = self._pictures(data) if self._pictures else data
        pieces: list[bytes] = []
        position = 0
        for start, end in self._find_suspect_lines(data, persons=bool(self._personal)):
            pieces += (data[position:start], self._redact_json(data[start:end]))
            position = end
        return b"".join((*pieces, data[position:]))

    def redact_document(self, data: bytes) -> bytes:
        """A JSON text of any number of lines, redacted; other data is redacted as plain text."""
        return self._redact_json(self._pictures(data) if self._pictures else data)

    def _redact_json(self, data: bytes) -> bytes:
        find = self._find_in_json if is_well_formed(data) else self._find_in_text
        return replace_secrets(data, find, self._choose_replacement, bool(self._personal))

    def _choose_replacement(self, rule: str, data: bytes) -> bytes:
        return self._personal.make_token(rule, data) if self._personal and ":" in rule else REDACTED

    def find(self, data: bytes, kind: str = "text") -> list[Secret]:
        """The sorted (rule, start, end) of secrets that would be redacted; kind: text, jsonl,
        document, or own for a document of gitcp.  Rules are those of Detector.find(), and `custom`
        for the person's own."""
        if kind == "jsonl":
            return [
                (rule, start + a, start + b)
                for start, end in self._find_suspect_lines(data, self._clean)
                for rule, a, b in self.find(data[start:end], "document")
            ]
        if kind in ("document", "own") and is_well_formed(data):
            return self._find_in_json(data, own=kind == "own")
        return self._find_in_text(data)

    def find_suspects(self, texts: Sequence[bytes]) -> list[int]:
        """The numbers of the texts in which find() may find secrets; in the others it finds none.
        Many small texts are searched at once."""
        if self._own:
            return list(range(len(texts)))
        return find_suspects(texts, self._detector)

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
        return self._personal.find(flat) if persons and self._personal else ()

    def _drop_allowed(self, text: bytes, secrets: Iterable[Secret]) -> list[Secret]:
        return merge_secrets(
            item
            for item in secrets
            if not any(pattern.search(text[item[1] : item[2]]) for pattern in self._allow)
            and (item[0] == "custom" or not _EXAMPLES.fullmatch(text, item[1], item[2]))
        )

    def _find_in_json(self, data: bytes, persons: bool = False, own: bool = False) -> list[Secret]:
        values, names, documents = list_values(data, own)
        text, parts = join_values(data, values)
        out = _map_to_values(self._find_in_text(text, persons), parts)
        text, parts = join_values(data, names)
        out += _map_to_values(self._find_in_names(text, persons), parts)
        encoded = self._detector.is_encoded_secret
        out += [("encoded", a, b) for a, b, _ in documents if b > a and encoded(data[a:b])]
        return sorted(out, key=lambda item: item[1:])

    def _find_custom(self, text: bytes) -> Iterator[Secret]:
        done = [match.span() for match in _DONE.finditer(text)] if self._own else []
        for pattern in self._own:
            group = min(1, pattern.groups)
            for match in pattern.finditer(text):
                start, end = match.span(group)
                if start < end and not any(a <= start and end <= b for a, b in done):
                    yield "custom", start, end

    def _find_suspect_lines(
        self, data: bytes, clean: set[bytes] | None = None, persons: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Yield the [start, end) of each line, without its newline, that may have a secret.

        clean: digests of blocks without secrets, which are skipped and added.
        """
        for start, end in split_blocks(data):
            block = data[start:end]
            digest = b"" if clean is None else start_sha256(block).digest()
            if clean and digest in clean:
                continue
            offsets = self._find_offsets(block, persons)
            if clean is not None and not offsets:
                clean.add(digest)
            done = -1
            for offset in offsets:
                if offset > done:
                    done = block.find(b"\n", offset)
                    done = len(block) if done < 0 else done
                    yield start + block.rfind(b"\n", 0, offset) + 1, start + done

    def _find_offsets(self, block: bytes, persons: bool) -> list[int]:
        if self._own or (persons and self._personal and self._personal.hides and b"\\u" in block):
            return list_line_starts(block)
        offsets = find_offsets(block, self._detector)
        if persons and self._personal:
            offsets += [start for _, start, _ in self._personal.find(flatten(block))]
        return sorted(offsets)


def _map_to_values(secrets: Sequence[Secret], parts: Iterable[Part]) -> list[Secret]:
    """The secrets in a joined text, with their offsets in the raw data of its values."""
    out: list[Secret] = []
    first = 0
    for start, end, value in parts if secrets else ():
        while first < len(secrets) and secrets[first][2] <= start:
            first += 1
        for rule, a, b in secrets[first:]:
            if a >= end:
                break
            out.append((rule, *value.find_raw_span(max(a, start) - start, min(b, end) - start)))
    return out


if TYPE_CHECKING:
    Part = tuple[int, int, Decoded]
