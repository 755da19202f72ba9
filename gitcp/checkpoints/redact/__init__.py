"""Redact secrets in transcripts, prompts and subjects before they are stored.

The raw line of a transcript is searched first, which is fast.  Its JSON is parsed only if that
finds a secret or an escape may hide one.

The formats of secrets are the table in secrets.json.  A rule has a name, a pattern, its source, and
where to search.  "run": the secret is in a run (see RUN) of SHORTEST bytes or more.  "near": a
keyword is in a run or, with a dot or colon, at most 24 bytes before one.  "text": anywhere.  Each
match for the first two contains one of the rule's keywords.  The groups of a pattern, if any, are
the secret, from the first to the last.

A pattern for texts begins with a literal, its first letter a rare one: `re` passes other letters
two to three times as fast as `in` does.
"""

from __future__ import annotations

import os
from itertools import accumulate, chain, pairwise

from gitcp.text import json, patterns
from gitcp.text.ids import start_sha256
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import TypedDict

    from gitcp.checkpoints.redact.json_values import Secret
    from gitcp.checkpoints.redact.options import Find
    from gitcp.checkpoints.redact.personal import Personal

    Rule = TypedDict(
        "Rule",
        {
            "name": str,
            "pattern": str,
            "keywords": list[str],
            "in": str,
            "about": str,
            "source": str,
        },
    )

# A run is a longest stretch of the letters a token or a base64 text is made of.
RUN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz/+_=-"
SHORTEST = 20
_MARK = bytes(97 if byte in RUN else 32 for byte in range(256))
_LONG = b"a" * SHORTEST
# A token that a manual shows: `ghp_xxxx…`.
_FILLER = load_pattern(rb"x{8}|X{8}")
_MOST_FILLED = 256  # bytes of such a token
# Letters in the keywords of many rules and in few long runs: base64 has neither.
_MARKS = (b"_", b"-", b"")


def find_runs(flat: bytes) -> list[tuple[int, int]]:
    """The [start, end) of every run of at least SHORTEST bytes, in order."""
    marks = flat.translate(_MARK)
    spans = list[tuple[int, int]]()
    end = 0
    while True:
        start = marks.find(_LONG, end)
        if start < 0:
            break
        end = marks.find(b" ", start)
        end = len(marks) if end < 0 else end
        spans.append((start, end))
    return spans


def read_rules() -> list[Rule]:
    """The rules of secrets.json, in its order."""
    with open(os.path.join(os.path.dirname(__file__), "secrets.json"), "rb") as file:
        table: list[Rule] = json.loads(file.read())["rules"]
    return table


def prepare_formats() -> None:
    """Fill FORMATS from the rules, unless it was stored."""
    formats = patterns.FORMATS
    if formats:
        return
    table = [
        (rule["name"], rule["pattern"].encode(), _encode_keywords(rule), rule["in"])
        for rule in read_rules()
    ]
    formats["words"] = [(_choose_mark(rule[2]), *rule[:3]) for rule in table if rule[3] == "run"]
    formats["text"] = [rule for rule in table if rule[3] != "run"]


class Formats:
    """The rules; each is compiled when it is first needed."""

    def __init__(self) -> None:
        prepare_formats()
        self._of_words = patterns.FORMATS["words"]
        self._of_text = patterns.FORMATS["text"]
        self._compiled: dict[str, re.Pattern[bytes]] = {}

    def find_in_words(self, words: Collection[bytes]) -> Iterator[tuple[bytes, Secret]]:
        """Yield (word, (rule, start, end)) of the matches of the rules for runs."""
        marked = {mark: [word for word in words if mark in word] for mark in _MARKS}
        blobs = {mark: b"\n".join(marked[mark]) for mark in _MARKS}
        if words:
            for mark, name, source, keys in self._of_words:
                blob = blobs[mark]
                if _has_any(keys, blob) and (pattern := self._get_pattern(name, source)).search(
                    blob
                ):
                    for word in marked[mark]:
                        yield from ((word, secret) for secret in _find_matches(name, pattern, word))

    def find_in_text(self, flat: bytes, spans: Iterable[tuple[int, int]]) -> Iterator[Secret]:
        """Yield (rule, start, end) of the matches of the other rules; spans: the runs of flat."""
        blob = b"\n".join(
            {flat[start:end] for start, end in spans}
            | {flat[max(0, a - 24) : b] for a, b in spans if a and flat[a - 1] in b".:"}
        )
        for name, source, keys, where in self._of_text:
            if where == "text" or _has_any(keys, blob):
                yield from _find_matches(name, self._get_pattern(name, source), flat)

    def _get_pattern(self, name: str, source: bytes) -> re.Pattern[bytes]:
        if name not in self._compiled:
            self._compiled[name] = load_pattern(source)
        return self._compiled[name]


def _choose_mark(keys: tuple[bytes, ...]) -> bytes:
    """The first of _MARKS that all keys have."""
    return next(mark for mark in _MARKS if all(mark in key for key in keys))


def _has_any(keys: tuple[bytes, ...], text: bytes) -> bool:
    return any(map(text.__contains__, keys))


def _find_matches(name: str, pattern: re.Pattern[bytes], text: bytes) -> Iterator[Secret]:
    first = min(1, pattern.groups)
    last = pattern.groups
    for match in pattern.finditer(text):
        if len(match[0]) > _MOST_FILLED or not _FILLER.search(match[0]):
            yield name, match.start(first), match.end(last)


def _encode_keywords(rule: Rule) -> tuple[bytes, ...]:
    return tuple(keyword.encode() for keyword in rule["keywords"])


# Find secrets in encoded text: base64, hex, and the escapes of URLs.
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
_BETWEEN = b"\n\n-\n\n"


def find_escaped(flat: bytes, find: Callable[[bytes], Iterable[Secret]]) -> Iterator[Secret]:
    """Yield (rule, start, end) in a flattened text of the results of find() for its words with the
    escapes of URLs decoded."""
    places = _find_escaped_words(flat)
    decoded = [_ESCAPE.sub(_decode_escape, flat[slice(*place)]) for place in places]
    ends = list[int]()
    size = 0
    for text in decoded:
        size += len(text) + len(_BETWEEN)
        ends.append(size)
    if places:
        for rule, start, end in find(_BETWEEN.join(decoded)):
            import bisect

            number = bisect.bisect_right(ends, start)
            first = ends[number] - len(decoded[number]) - len(_BETWEEN)
            word_start = places[number][0]
            word = flat[slice(*places[number])]
            begin, stop = (_find_raw_offset(word, offset - first) for offset in (start, end))
            yield rule, word_start + begin, word_start + stop


def _decode_escape(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)])


def _find_escaped_words(flat: bytes) -> list[tuple[int, int]]:
    """The [start, end) of every word with an escape in it."""
    places: list[tuple[int, int]] = []
    words = b""
    if _ESCAPE.search(flat):
        words = flat.translate(_WORD)
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


# Find random runs in a text: keys and tokens without a known format.
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
    return (start, len(run)) if is_random else None


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
    if len(run) < 24 or share >= 0.3 or edges < 0.45 or run[0] in b"/-=":
        return False
    return all(kind.search(run) for kind in _KINDS) and _compute_step_share(run) < 0.4


def compute_natural_share(run: bytes) -> float:
    """The share of bytes in words of a language or in names; 0 for an empty run."""
    return sum(map(len, _NATURAL.findall(run))) / max(1, len(run))


def _compute_step_share(run: bytes) -> float:
    """The share of bytes whose successor is the same or a neighbour in the alphabet."""
    return sum(-1 <= b - a <= 1 for a, b in pairwise(run)) / len(run)


# Find secrets among the values assigned to names such as `password` or `api_key`.
_SEPARATOR = (
    rb"""["'`\0\])]{0,8}(?:[ \t]{0,4}"""
    rb"""(?::[ \t]?[a-z&_.\[\]|]{1,24}[ \t]?=(?![=>])|:=|=>|[:=](?!=))[ \t]{0,4}"""
    # in XML and HTML: other attributes, then the attribute `value` or the text of the element
    rb"""|(?:[ \t\n]{1,4}[a-z:_-]{1,20}=[\0"']{1,8}[^"'<>=\n\0]{0,64}[\0"']{1,8}){0,4}"""
    rb"""(?:[ \t\n]{1,4}value=(?=[\0"'])|>(?=[^<>\s\0]{6,1024}</))"""
    rb"""| )"""
)
# What the name of such a value is: that of an element, or the value of an attribute.
_ELEMENT = load_pattern(
    rb"""(?:<[a-z0-9_:.-]{0,38}|(?:name|key|type|id)=[\0"']{1,8}[a-z0-9_.:-]{0,30})$"""
)
_VALUE = (
    rb"""(?:\0{0,8}(["'`])([^\s"'`\0\1]{6,1024}+)(?=\0{0,8}["'`])"""
    rb"""|([^\s"'`,;<>(){}\[\]&|\0\1]{6,1024}+)(?![(\[{]))"""
)
# How names end, in lower case.  Those that begin alike have a pattern: `re` finds one literal many
# times as fast as several.  What follows is looked at alone, since it may have another name in it.
_WORDS = (
    rb"p(?:ass(?:word|wd|phrase|wort)?|wd)",
    rb"cre(?:t(?<=secret)|dentials?)",
    rb"ke(?:n(?<=token)|y(?:_base)?)",
    rb"_auth",
)
_ENDINGS = [load_pattern(b"(" + word + b")(?=" + _SEPARATOR + _VALUE + b")") for word in _WORDS]
# Twelve words from which the keys of a wallet are made, or up to 24, behind what they are called.
_SEED = (
    rb"""[a-z]{0,4}[_ -]{0,2}[\0"'`]{0,8}[ \t]{0,4}[:=][ \t]{0,4}[\0"'`]{0,8}"""
    rb"""((?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){3}){0,4}[a-z]{3,8})(?![a-z]| [a-z])"""
)
_PHRASES = [load_pattern(word + _SEED) for word in (rb"mnemonic", rb"hrase(?<=phrase)")]
_SEARCHED = 128  # bytes of a value in which other names are looked for
# In JSON: a value that is a list, or stands on another line; and such a name before it.
_APART = load_pattern(rb":[ \t]*[\[\r\n]")
_VALUE_NAME = load_pattern(rb"(?i:" + b"|".join(_WORDS) + rb')"\s*$')
_KEY = load_pattern(
    rb"(?:api|access|secret|private|auth|encryption|signing|account|master|shared|client|app|service|webhook|deploy)"
    rb"[_.-]?key(?:_base)?$"
)
_PASS = load_pattern(rb"(?:pass(?:word|wd|phrase|wort)?|pwd)$")
_PLACEHOLDER = load_pattern(
    rb"[$%<{@*]|(?i:your|my[_-]|null|none|true|false|undefined|nil\b|string|optional|required|hidden|redacted"
    rb"|change[_-]?me|placeholder|https?:|file:|arn:|[.~]{0,2}/|\\)|(.)\1*$"
)
_INSIDE = load_pattern(
    rb"(?i)[$]\{|\{\{|%\(|xxxx|\*\*\*|[.]{3}|_here$|[.](?:pem|key|crt|json|ya?ml|toml|txt|env|md|py|[jt]sx?|go|rs|rb)$"
)
_OPTION = load_pattern(rb"""(?:^|[\s"'`\0])--[a-z-]*pass(?:word|wd|phrase)?$""")
_PROSE = load_pattern(rb"[.,:]? [a-z]|[.,:]$")  # a sentence goes on: the option is only spoken of
_STEM = load_pattern(rb"(?i)pass|pwd|token|secret|key|cred|auth|value|param|input|field")
_CODE = load_pattern(rb"[A-Za-z_][0-9A-Za-z_]*(?:(?:[.]|->|::)[A-Za-z_][0-9A-Za-z_]*)+[:]?$")
_HEX_VALUE = load_pattern(rb"[0-9A-Fa-f-]+$")
_IDENTIFIER = load_pattern(rb"[A-Za-z_-]+[0-9]?[.:!?]?$")
_SCOPED = load_pattern(rb"::\w*$")
_DASHES = load_pattern(rb"""(?:^|[\s"'`\0])--[a-z-]*$""")
_VARIABLE = load_pattern(rb"(?:^|[^0-9A-Za-z_.])[A-Z][A-Z0-9_]*$")
_DIGIT = load_pattern(rb"[0-9]")
_LETTER = load_pattern(rb"[A-Za-z]")
_SIGN = load_pattern(rb"[!#%^*?~@]")


def find_assigned(flat: bytes) -> Iterator[tuple[int, int]]:
    """Yield the [start, end) of the secret values assigned to such names in flat."""
    low = flat.lower()
    for ending in _ENDINGS:
        match = ending.search(low)
        while match:
            start, end = match.span(3 if match[3] else 4)
            if _is_assigned(flat, low, match):
                yield start, end
                match = ending.search(low, end)
            else:  # another name may be in the value
                match = ending.search(low, match.end(1) if end - start <= _SEARCHED else end)
    for phrase in _PHRASES:
        for match in phrase.finditer(low):
            yield match.span(1)


def find_separated(raw: bytes) -> Iterator[int]:
    """Yield the offsets in raw JSON of such names before a list or a line end: find_assigned()
    finds their values only in the joined text."""
    for match in _APART.finditer(raw):
        if _VALUE_NAME.search(raw, max(0, match.start() - 24), match.start()):
            yield match.start()


def _is_assigned(flat: bytes, low: bytes, match: re.Match[bytes]) -> bool:
    name_end = match.end(1)
    word = match[1]
    head = low[max(0, name_end - 40) : name_end]
    if word.startswith(b"key") and not _KEY.search(head):
        return False
    if _SCOPED.search(head) or (word == b"pass" and head[-5:-4].isalnum()):
        return False
    quoted = match[3] is not None
    gap = low[name_end : match.start(3) - 1 if quoted else match.start(4)]
    if gap == b" " and not _DASHES.search(head):
        return False
    start, end = match.span(3 if quoted else 4)
    value = flat[start:end]
    if gap.endswith((b">", b"value=")):
        if not _ELEMENT.search(head):
            return False
        quoted = True
    option = bool(_OPTION.search(head)) and (gap == b"=" or not _PROSE.match(low, end))
    # NAME=value without spaces, as in a shell or an .env file
    bare = gap == b"=" and _VARIABLE.search(flat[name_end - len(head) : name_end])
    return may_be_secret(value, bool(_PASS.search(head)), quoted, bool(bare) or option)


def may_be_secret(value: bytes, password: bool, quoted: bool, bare: bool) -> bool:
    """Whether value may be a secret, not a placeholder, a type, a path or code.

    password: the name is that of a password, which may be a word.  quoted: it is in quotes.  bare:
    it is assigned as in an .env file, NAME=value.
    """
    if _PLACEHOLDER.match(value) or _INSIDE.search(value):
        return False
    digit = _DIGIT.search(value)
    stem = _STEM.search(value)
    marked = quoted or bare
    if not marked and _CODE.match(value):
        return False
    if _IDENTIFIER.match(value) and (
        not digit if stem else not marked and not (password and digit)
    ):
        return False
    if password:
        if stem and not marked and _IDENTIFIER.match(value):
            return False
        return bool(marked or digit or _SIGN.search(value))
    if (
        not marked
        and not _HEX_VALUE.match(value)
        and (b"$" in value or compute_natural_share(value) > 0.6)
    ):
        return False
    return len(value) >= 8 and bool(digit and _LETTER.search(value))


# Find secrets in a text: by formats, by the names of assigned values, and by randomness.
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
    if _PUBLIC_KEYS.search(flat, max(0, run - 64), run):
        return True
    document = _DOCUMENT.search(flat, max(0, run - 24), run + 80)
    return document is not None and document.start() < run < document.end()


class Detector:
    """The built-in rules, with a cache of judged words."""

    def __init__(self) -> None:
        self._formats = Formats()
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
        yield from self._formats.find_in_text(flat, spans)
        yield from (("assignment", *span) for span in find_assigned(flat))
        yield from find_escaped(flat, self.find_formats)

    def is_encoded_secret(self, run: bytes) -> bool:
        """Whether a run is base64 or hex of a text with a secret."""

        text = decode_text(run)
        if not text:
            return False
        flat = flatten(text)
        return any(True for _ in chain(self.find_formats(flat), find_assigned(flat)))

    def find_formats(self, flat: bytes) -> Iterator[Secret]:
        """Yield (rule, start, end) of the matches of secrets.json alone."""
        spans = find_runs(flat)
        of_word: dict[bytes, list[Secret]] = {}
        for word, item in self._formats.find_in_words({flat[start:end] for start, end in spans}):
            of_word.setdefault(word, []).append(item)
        if of_word:
            for start, end in spans:
                for rule, a, b in of_word.get(flat[start:end], ()):
                    yield rule, start + a, start + b
        yield from self._formats.find_in_text(flat, spans)

    def _judge_words(self, words: set[bytes]) -> dict[bytes, Sequence[Secret]]:
        """The words that have secrets, with those; each word is judged once."""
        if self._size > _CACHE:
            self._known = {}
            self._size = 0
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

        part = find_random_part(word)
        if part != (0, len(word)) and self.is_encoded_secret(word):
            return [("encoded", 0, len(word))]
        if part is None:
            return ()
        text = decode_text(word[slice(*part)])
        if is_plain_text(text) and not self.is_encoded_secret(word[slice(*part)]):
            return ()
        return [("entropy", *part)]


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
    flat, escapes = flatten_escapes(text)
    offsets = _find_hidden(text, escapes)
    for rule, start, _ in detector.find(flat):
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
    if escapes & {b"\\u", b"\\/"}:
        patterns = [_ARMOUR_LINE, _HIDING]
    else:
        patterns = [_ARMOUR_LINE]
    hidden = []
    for pattern in patterns:
        for match in pattern.finditer(text):
            hidden.append(match.start())
    return [*hidden, *find_separated(text)]


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


def _compile_options(option: str, sources: Iterable[str]) -> list[Find]:
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
        if rules:
            self._own = _compile_options("gitcp.redact", rules)
        else:
            self._own = []
        if allow:
            self._allow = _compile_options("gitcp.redact-allow", allow)
        else:
            self._allow = []
        self._personal = personal
        self._pictures = pictures
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

        from gitcp.checkpoints.redact import json_values

        find = self._find_in_json if json_values.is_well_formed(data) else self._find_in_text
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
            return [
                (rule, start + a, start + b)
                for start, end in self._find_suspect_lines(data, self._clean)
                for rule, a, b in self.find(data[start:end], "document")
            ]

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
        return merge_secrets(
            item
            for item in secrets
            if not any(any(find(text[item[1] : item[2]])) for find in self._allow)
            and (item[0] == "custom" or not _EXAMPLES.fullmatch(text, item[1], item[2]))
        )

    def _find_in_json(self, data: bytes, persons: bool = False, own: bool = False) -> list[Secret]:

        from gitcp.checkpoints.redact import json_values

        values, names, documents = json_values.list_values(data, own)
        text, parts = json_values.join_values(data, values)
        out = json_values.map_to_values(self._find_in_text(text, persons), parts)
        text, parts = json_values.join_values(data, names)
        out += json_values.map_to_values(self._find_in_names(text, persons), parts)
        encoded = self._detector.is_encoded_secret
        out += [("encoded", a, b) for a, b, _ in documents if b > a and encoded(data[a:b])]
        return sorted(out, key=lambda item: item[1:])

    def _find_custom(self, text: bytes) -> Iterator[Secret]:
        if self._own:
            done = [match.span() for match in _DONE.finditer(text)]
        else:
            done = []
        for find in self._own:
            for start, end in find(text):
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
            if clean is None:
                digest = b""
            else:
                digest = start_sha256(block).digest()
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
