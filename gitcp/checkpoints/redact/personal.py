"""Find and replace personal data in a text: mail and street addresses, phone numbers, addresses of
hosts, names listed in a file, and matches of the repository's own labels."""

from __future__ import annotations

import re

from gitcp.checkpoints.redact.hosts import find_hosts
from gitcp.checkpoints.redact.options import compile_option
from gitcp.text import json
from gitcp.text.ids import start_sha256
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.checkpoints.redact.json_values import Secret, Span
    from gitcp.checkpoints.redact.options import Find

PREFIX = "personal:"  # of the rules' names, before the label
_TOKEN = load_pattern(rb"\[REDACTED_[A-Z0-9_-]{1,40}_[0-9a-f]{2}\]")
# An address of mail, from its @ on: in a known domain at the top, or that of a country.
_DOMAIN = load_pattern(
    rb"@((?:[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?\.){1,8}"
    rb"(?i:com|org|net|edu|gov|mil|int|info|biz|dev|app|name|pro|aero|coop|museum|cloud|online|site"
    rb"|email|tech|store|agency|studio|world|blog|xyz|company|consulting|solutions|[A-Za-z]{2}))"
    rb"(?![0-9A-Za-z_(\[-]|\.[0-9A-Za-z])"
)
_LOCAL = load_pattern(rb"(?:[0-9A-Za-z_%+'.-]|[\xc3-\xf4][\x80-\xbf]{1,3}){1,64}$")
# Addresses of no person: robots, accounts of a service, and example domains (RFC 2606).
_ROBOT = load_pattern(
    rb"(?i)(?:.*\b(?:no-?reply|do-?not-?reply|bot|robot|mailer-daemon|postmaster|notifications?"
    rb"|automation|ci|github-actions)(?:[+.-].*)?|.*[a-z]{5}bot|git|hg|svn|root|admin|www|abuse|webmaster|hostmaster"
    rb"|info|support|security|sales|contact|hello|help|team|maintainers?|[0-9]+\+.*)$"
)
_NOBODY = load_pattern(
    rb"(?i)(?:(?:.*\.)?example\.(?:com|org|net|edu)|(?:.*\.)?noreply\.(?:github|gitlab)\.com"
    rb"|(?:.*\.)?gserviceaccount\.com|[0-9A-Za-z-]+\.(?:py|sh))$"  # and files
)
_NUMBERED = load_pattern(rb"[0-9.]+\.(?!(?i:com|cn|net|org)$)[A-Za-z]+$")  # pkg@1.2.beta
_PHONE = load_pattern(rb"\+[1-9][0-9 ().\-/]{6,20}[0-9](?![0-9A-Za-z_])")
_UPPER = rb"(?:[A-Z]|\xc3[\x80-\x9e])"
_WORD = rb"(?:[A-Za-z'.-]|\xc3[\x80-\xbf]){1,30}"
_ADDRESSES = (
    # 221b Baker Street, London NW1 6XE; 1600 Pennsylvania Ave, Washington, DC 20500
    rb"\b[1-9][0-9]{0,4}[A-Za-z]? (?:" + _UPPER + _WORD + rb" ){1,4}"
    rb"(?:Street|St\.|Avenue|Ave\.?|Road|Rd\.?|Boulevard|Blvd\.?|Lane|Ln\.?|Drive|Dr\.|Court|Square|Terrace)"
    rb"(?![A-Za-z])(?:,? (?:" + _UPPER + _WORD + rb",? ){1,3}(?:[A-Z]{2} [0-9]{5}(?:-[0-9]{4})?"
    rb"|[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}))?",
    # Hauptstraße 12a, 10115 Berlin
    _UPPER + rb"(?:[a-z]|\xc3[\xa0-\xbf]){2,30}"
    rb"(?:stra\xc3\x9fe|strasse|str\.|weg|platz|allee|gasse) [1-9][0-9]{0,3}[A-Za-z]?\b"
    rb"(?:,? [0-9]{5} " + _UPPER + _WORD + rb")?",
    # 12 rue de la Paix, 75002 Paris
    rb"\b[1-9][0-9]{0,3}(?: bis| ter)?,? (?:rue|avenue|boulevard|chemin|impasse|quai)"
    rb" (?:(?:de|du|des|la|le|l') ?){0,2}" + _UPPER + _WORD + rb"(?: " + _UPPER + _WORD + rb"){0,3}"
    rb"(?:,? [0-9]{5} " + _UPPER + _WORD + rb")?",
)  # fmt: skip


class Personal:
    """The rules for personal data, and the key of the tokens that replace it."""

    def __init__(
        self, kinds: Sequence[str], people: Sequence[str], labels: Mapping[str, str], session: str
    ) -> None:
        """kinds: email, phone, address, ip.  people: names.  labels: label -> regular expression.
        session: the key of suffixes.  Raise InputError, which names it, for an invalid label."""
        streets = [("ADDRESS", _make_finder(load_pattern(source))) for source in _ADDRESSES]
        finders = [("EMAIL", _find_emails), ("PHONE", _find_phones), *streets]
        self._find: list[tuple[str, Find]] = [
            (label, finder) for label, finder in finders if label.lower() in kinds
        ]
        if "ip" in kinds:
            self._find.append(("IP", find_hosts))
        if people:
            self._find.append(("NAME", _make_finder(_compile_names(people))))
        for label, source in labels.items():
            find = compile_option(f"gitcp.redact-label.{label}", source)
            self._find.append((label.upper(), find))
        self._key = _encode_key(session)
        # In JSON a letter that is not ASCII may be escaped: only the decoded value shows it.
        self.hides = bool(labels) or not all(map(str.isascii, people))

    def bind_session(self, session: str) -> Personal:
        """The same rules, with suffixes keyed by a session."""
        return _SessionPersonal(self, session)

    def find(self, flat: bytes) -> Iterator[Secret]:
        """Yield (PREFIX + label, start, end) in a flattened text, in no order."""
        done = [match.span() for match in _TOKEN.finditer(flat.replace(b"\1" * 8, b"REDACTED"))]
        for label, finder in self._find:
            for start, end in finder(flat):
                is_done = any(a < end and start < b for a, b in done)
                if start < end and not is_done:
                    yield PREFIX + label, start, end

    def make_token(self, rule: str, data: bytes) -> bytes:
        """The token that replaces data; equal data has the same token throughout a session."""
        label = rule.removeprefix(PREFIX)
        if b"\\" in data:  # as a JSON text has it
            try:
                data = json.loads(b'"%s"' % data).encode("utf-8", "surrogatepass")
            except ValueError:
                pass
        same = b"".join(data.lower().split())
        suffix = start_sha256(b"%s\0%s\0%s" % (self._key, label.encode(), same)).hexdigest()[:2]
        return f"[REDACTED_{label}_{suffix}]".encode()


class _SessionPersonal(Personal):
    """The rules of another, with suffixes keyed by a session."""

    def __init__(self, of: Personal, session: str) -> None:
        self._find = of._find
        self._key = _encode_key(session)
        self.hides = of.hides


def _encode_key(session: str) -> bytes:
    return session.encode("utf-8", "surrogateescape")


def _find_emails(flat: bytes) -> Iterator[Span]:
    for match in _DOMAIN.finditer(flat):
        if _NOBODY.match(match[1]) or _NUMBERED.match(match[1]):
            continue
        first = max(0, match.start() - 64)
        local = _LOCAL.search(flat[first : match.start()])
        if local and not _ROBOT.match(local[0]):
            dots = len(local[0]) - len(local[0].lstrip(b".'-"))
            if dots < len(local[0]):
                yield first + local.start() + dots, match.end()


def _find_phones(flat: bytes) -> Iterator[Span]:
    for match in _PHONE.finditer(flat):
        before = flat[max(0, match.start() - 1) : match.start()]
        if not before.isalnum() and before not in (b"+", b"_") and _is_phone(match[0].decode()):
            yield match.span()


def _is_phone(text: str) -> bool:
    """Whether a number is a phone number: by the library of the extra `personal`, else by length
    and shape."""
    digits = sum(c.isdigit() for c in text)
    if not 8 <= digits <= 15 or text.count("(") != text.count(")"):
        return False
    try:
        import phonenumbers
    except ImportError:
        return digits < len(text) - 1  # written in groups, as an offset or a sum is not
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(text)))
    except phonenumbers.NumberParseException:
        return False


def _make_finder(pattern: re.Pattern[bytes]) -> Find:
    return lambda flat: (match.span() for match in pattern.finditer(flat))


def _compile_names(people: Sequence[str]) -> re.Pattern[bytes]:
    # A longer one first: it may begin with a shorter one.
    names = []
    for name in sorted(people, key=len, reverse=True):
        parts = [re.escape(part) for part in name.encode().split()]
        names.append(rb"\s+".join(parts))
    among = b"|".join(names)
    return re.compile(rb"(?<![0-9A-Za-z_\x80-\xff])(?:" + among + rb")(?![0-9A-Za-z_\x80-\xff])")
