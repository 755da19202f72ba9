"""Secrets among the values assigned to names such as `password` or `api_key`."""

from __future__ import annotations

from gitcp.checkpoints.redact.random_runs import compute_natural_share
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from gitcp.checkpoints.redact.json_values import Span

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
_QUOTED = 3  # the groups of _VALUE behind a name and a quote
_BARE = 4
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


def find_assigned(flat: bytes) -> Iterator[Span]:
    """Yield the [start, end) of the secret values assigned to such names in flat."""
    low = flat.lower()
    for ending in _ENDINGS:
        match = ending.search(low)
        while match:
            start, end = match.span(_find_value(match))
            following = end
            if _is_assigned(flat, low, match):
                yield start, end
            elif end - start <= _SEARCHED:  # another name may be in the value
                following = match.end(1)
            match = ending.search(low, following)
    for phrase in _PHRASES:
        for match in phrase.finditer(low):
            yield match.span(1)


def find_separated(raw: bytes) -> Iterator[int]:
    """Yield the offsets in raw JSON of such names before a list or a line end: find_assigned()
    finds their values only in the joined text."""
    for match in _APART.finditer(raw):
        if _VALUE_NAME.search(raw, max(0, match.start() - 24), match.start()):
            yield match.start()


def _find_value(match: re.Match[bytes]) -> int:
    """The number of the group of _VALUE that has the value."""
    if match[_QUOTED] is None:
        return _BARE
    return _QUOTED


def _is_assigned(flat: bytes, low: bytes, match: re.Match[bytes]) -> bool:
    name_end = match.end(1)
    word = match[1]
    head = low[max(0, name_end - 40) : name_end]
    if word.startswith(b"key") and not _KEY.search(head):
        return False
    if word == b"pass" and head[-5:-4].isalnum():
        return False
    if _SCOPED.search(head):
        return False
    quoted = match[_QUOTED] is not None
    start, end = match.span(_find_value(match))
    gap = low[name_end:start]
    if quoted:
        gap = gap[:-1]
    if gap == b" " and not _DASHES.search(head):
        return False
    if gap.endswith((b">", b"value=")):
        if not _ELEMENT.search(head):
            return False
        quoted = True
    bare = False
    if gap == b"=":  # without spaces, as in a shell or an .env file
        bare = bool(_VARIABLE.search(flat[name_end - len(head) : name_end]))
    if not bare and _OPTION.search(head):
        bare = gap == b"=" or not _PROSE.match(low, end)
    return may_be_secret(flat[start:end], bool(_PASS.search(head)), quoted, bare)


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
    if _IDENTIFIER.match(value) and not _may_be_word(bool(stem), marked, password, bool(digit)):
        return False
    if password:
        return bool(marked or digit or _SIGN.search(value))
    if not marked and not _HEX_VALUE.match(value) and _is_code(value):
        return False
    return len(value) >= 8 and bool(digit and _LETTER.search(value))


def _is_code(value: bytes) -> bool:
    return b"$" in value or compute_natural_share(value) > 0.6


def _may_be_word(stem: bool, marked: bool, password: bool, digit: bool) -> bool:
    """Whether a value that looks like an identifier may be a secret all the same.

    stem: it has what names of secrets are made of, such as `pass`.  marked: of may_be_secret().
    """
    if stem and not digit:
        return False
    if marked:
        return True
    if stem:
        return not password
    return password and digit
