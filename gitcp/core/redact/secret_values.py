"""Find secrets among the values assigned to names such as `password` or `api_key`."""

from __future__ import annotations

from gitcp.core.redact.entropy import compute_natural_share
from gitcp.core.redact.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_SEPARATOR = (
    rb"""["'`\0\])]{0,8}(?:[ \t]{0,4}"""
    rb"""(?::[ \t]?[a-z&_.\[\]|]{1,24}[ \t]?=(?![=>])|:=|=>|[:=](?!=))[ \t]{0,4}| )"""
)
_VALUE = (
    rb"""(?:\0{0,8}(["'`])([^\s"'`\0\1]{6,1024}+)(?=\0{0,8}["'`])"""
    rb"""|([^\s"'`,;<>(){}\[\]&|\0\1]{6,1024}+)(?![(\[{]))"""
)
# How names end, in lower case.  Each has a pattern: `re` finds one literal many times as fast as
# several, and faster if its first letter is rare.
_WORDS = (
    rb"pass(?:word|wd|phrase|wort)?",
    rb"pwd",
    rb"cret(?<=secret)",
    rb"ken(?<=token)",
    rb"key(?:_base)?",
    rb"credentials?",
    rb"_auth",
)
_ENDINGS = [load_pattern(b"(" + word + b")" + _SEPARATOR + _VALUE) for word in _WORDS]
# In JSON: a value that is a list, or stands on another line; and such a name before it.
_APART = load_pattern(rb":[ \t]*[\[\r\n]")
_NAME = load_pattern(rb"(?i:" + b"|".join(_WORDS) + rb')"\s*$')
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
_HEX = load_pattern(rb"[0-9A-Fa-f-]+$")
_IDENTIFIER = load_pattern(rb"[A-Za-z_-]+[0-9]?[.:!?]?$")
_SCOPED = load_pattern(rb"::\w*$")
_DASHES = load_pattern(rb"""(?:^|[\s"'`\0])--[a-z-]*$""")
_VARIABLE = load_pattern(rb"(?:^|[^0-9A-Za-z_.])[A-Z][A-Z0-9_]*$")
_DIGIT, _LETTER = load_pattern(rb"[0-9]"), load_pattern(rb"[A-Za-z]")
_SIGN = load_pattern(rb"[!#%^*?~@]")


def find_assigned(flat: bytes) -> Iterator[tuple[int, int]]:
    """Yield the [start, end) of the secret values assigned to such names in flat."""
    low = flat.lower()
    for ending in _ENDINGS:
        for match in ending.finditer(low):
            if _is_assigned(flat, low, match):
                yield match.span(3 if match[3] else 4)


def find_separated(raw: bytes) -> Iterator[int]:
    """Yield the offsets in raw JSON of such names before a list or a line end: find_assigned()
    finds their values only in the joined text."""
    for match in _APART.finditer(raw):
        if _NAME.search(raw, max(0, match.start() - 24), match.start()):
            yield match.start()


def _is_assigned(flat: bytes, low: bytes, match: re.Match[bytes]) -> bool:
    name_end, word = match.end(1), match[1]
    head = low[max(0, name_end - 40) : name_end]
    if word.startswith(b"key") and not _KEY.search(head):
        return False
    if _SCOPED.search(head) or (word == b"pass" and head[-5:-4].isalnum()):
        return False
    quoted = match[3] is not None
    gap = low[name_end : match.start(3) - 1 if quoted else match.start(4)]
    if gap == b" " and not _DASHES.search(head):
        return False
    value = flat[slice(*match.span(3 if quoted else 4))]
    option = bool(_OPTION.search(head)) and (gap == b"=" or not _PROSE.match(low, match.end()))
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
    digit, stem = _DIGIT.search(value), _STEM.search(value)
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
        and not _HEX.match(value)
        and (b"$" in value or compute_natural_share(value) > 0.6)
    ):
        return False
    return len(value) >= 8 and bool(digit and _LETTER.search(value))
