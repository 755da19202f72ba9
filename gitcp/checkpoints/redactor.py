"""The redactor of a repository: the built-in rules and those of its configuration."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.errors import InputError
from gitcp.git import config_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.checkpoints.redact import Redactor
    from gitcp.checkpoints.redact.personal import Personal
    from gitcp.git.repo import Repo

_WORDS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,;!?'()\n"
_LONGEST = 15  # bytes of a word: what follows `Bearer ` is a secret from 16 on
# What the rules for texts begin with or follow, in lower case.
_TELLING = (
    *(
        b"pass",
        b"pwd=",
        b"pwd:",
        b"pwd'",
        b'pwd"',
        b"secret",
        b"token",
        b"key",
        b"cred",
        b"auth",
        b"bearer",
        b"cookie",
    ),
    *(b"://", b"%", b"jdbc", b"mysql", b"mariadb", b"curl", b"machine", b"login", b"mnemonic"),
    *(b"-cli ", b"-literal", b"zip ", b"7z", b"phrase", b"define(", b"sudo -s", b"-----begin"),
)
# Blanks for what ends the words of a command; the letters of a word that nobody draws at random.
_PLAIN = b"abcdefghijklmnopqrstuvwxyz_-"
_DRAWN = _PLAIN + b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+"
_BETWEEN = bytes(byte if byte in _DRAWN else 32 for byte in range(256))
# Stands for a text while a rule is invalid and its secrets cannot be found.
WITHHELD = "(withheld: a rule of gitcp.redact cannot be read)"
_REDACTORS: dict[str, Redactor] = memory.get_table("redactors")


def get_redactor(repo: Repo, session: str = "") -> Redactor:
    """The repository's Redactor, made once a process, by gitcp.redact, gitcp.redact-allow,
    gitcp.redact-personal and gitcp.images.  session: labels of persons are stable in it.

    Raises InputError that names an invalid rule.
    """
    if repo.common not in _REDACTORS:
        from gitcp.text import patterns

        patterns.load_patterns()
        from gitcp.checkpoints import redact

        _REDACTORS[repo.common] = redact.Redactor(
            repo.config.get_all("gitcp.redact"),
            _list_readable(repo, "gitcp.redact-allow"),
            _read_personal(repo),
            _choose_replacer(repo),
        )
        patterns.save_patterns(_prepare_patterns)
    return _REDACTORS[repo.common].bind_session(session)


def _choose_replacer(repo: Repo) -> Callable[[bytes], bytes] | None:
    """A function that replaces the pictures in lines; None to keep them."""
    if repo.config.get_option("gitcp.images") == "keep":
        return None

    from gitcp.checkpoints.redact import pictures

    return pictures.make_replacer(repo)


def _read_personal(repo: Repo) -> Personal | None:
    """The rules for personal data; None without any."""
    kinds = _list_kinds(repo)
    labels = repo.config.list_keys(config_table.LABELS, "")
    if not kinds and not labels:
        return None
    lists = [kind.removeprefix("name:") for kind in kinds if kind.startswith("name:")]
    names = []
    for path in lists:
        names += _read_names(repo, path)
    sources = {key.removeprefix(config_table.LABELS): repo.config.get(key) for key in labels}

    from gitcp.checkpoints.redact import personal

    return personal.Personal(kinds, names, sources, "")


def _list_kinds(repo: Repo) -> list[str]:
    return config_table.split_list(repo.config.get_option("gitcp.redact-personal") or "")


def _read_names(repo: Repo, path: str) -> list[str]:
    """The names in a file, one a line; path: relative to the root of the worktree."""
    try:
        file = os.path.join(repo.top or repo.common, os.path.expanduser(path))
        with open(file, encoding="utf-8") as f:
            lines = [line.strip() for line in f]
        return [line for line in lines if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"gitcp.redact-personal: cannot read '{path}': {e}") from None


def can_read_rules(repo: Repo) -> bool:
    """Whether every rule of gitcp.redact and gitcp.redact-personal is valid.  If one is not, any
    text may have its secret: hooks store none."""
    for key in ("gitcp.redact", "gitcp.redact-personal"):
        if _list_readable(repo, key) != repo.config.get_all(key):
            return False
    try:
        _read_personal(repo)
    except InputError:
        return False
    return True


def _list_readable(repo: Repo, key: str) -> list[str]:
    about = config_table.KEYS[key]
    values = repo.config.get_all(key)
    return [value for value in values if not config_table.find_complaint(about, value)]


class Lazy:
    """A Redactor that is made at its first use; most hooks have nothing to redact."""

    def __init__(self, repo: Repo, session: str) -> None:
        self._repo = repo
        self._session = session

    def redact_text(self, data: bytes) -> bytes:
        if data:
            return get_redactor(self._repo, self._session).redact_text(data)
        return data

    def redact_jsonl(self, data: bytes) -> bytes:
        if data:
            return get_redactor(self._repo, self._session).redact_jsonl(data)
        return data

    def redact_document(self, data: bytes) -> bytes:
        if data:
            return get_redactor(self._repo, self._session).redact_document(data)
        return data


def redact_text(repo: Repo, value: str, session: str = "") -> str:
    """A text with its secrets replaced; WITHHELD while a rule is invalid."""
    return make_redaction(repo, session)(value)


def redact_command(repo: Repo, value: str, session: str = "") -> str:
    """redact_text() for a command or its output, of which most need no rules."""
    data = value.encode("utf-8", "surrogatepass")
    if not _has_own_rules(repo) and is_harmless_command(data):
        return value
    return make_redaction(repo, session)(value)


def redact_transcript(repo: Repo, data: bytes, session: str = "") -> bytes:
    """A transcript redacted as for a checkpoint, to be called before its texts are cut: a secret
    may span lines.  Raises InputError for an invalid rule."""

    from gitcp.agents import transcripts

    redactor = get_redactor(repo, session)
    if transcripts.is_document(data.partition(b"\n")[0], ""):
        return redactor.redact_document(data)
    return redactor.redact_jsonl(data)


def make_redaction(repo: Repo, session: str = "") -> Callable[[str], str]:
    """redact_text() for many texts, by the rules as they are now."""
    if not can_read_rules(repo):
        return lambda _: WITHHELD
    has_own_rules = _has_own_rules(repo)

    def redact(value: str) -> str:
        data = value.encode("utf-8", "surrogatepass")
        if has_own_rules or not is_words_only(data):
            data = get_redactor(repo, session).redact_text(data)
        return data.decode("utf-8", "replace")

    return redact


def _has_own_rules(repo: Repo) -> bool:
    return bool(repo.config.get_all("gitcp.redact") or has_personal_rules(repo))


def has_personal_rules(repo: Repo) -> bool:
    return bool(_list_kinds(repo) or repo.config.list_keys(config_table.LABELS, ""))


def is_harmless_command(data: bytes) -> bool:
    """Whether no rule finds a secret in a command or its output.

    Every rule needs a word of _TELLING, or a run of 20 letters or more.  Between the slashes and
    dots of paths a run has at most 15, or no digit and no capital.
    """
    low = data.lower()
    if any(map(low.__contains__, _TELLING)):
        return False
    words = data.translate(_BETWEEN).split()
    return not any(len(w) > _LONGEST and w.translate(None, _PLAIN) for w in words)


def is_words_only(data: bytes) -> bool:
    """Whether a text is nothing but words, as most prompts are: no rule finds a secret there.

    Every rule needs a separator such as `=` or `:`, a run longer than most words, or a word such as
    `password`.  A hook with plain words need not import the rules.
    """
    if b"passw" in data.lower():
        return False
    return not data.translate(None, _WORDS) and max(map(len, data.split()), default=0) <= _LONGEST


def _prepare_patterns() -> None:
    """Have the patterns of all rules compiled, and those of modules that not every text needs."""
    from gitcp.checkpoints.redact import (
        json_values,  # noqa: F401 - it loads its own patterns
        rules,
    )
    from gitcp.text import patterns

    for row in rules.read_table():
        patterns.load_pattern(row["pattern"].encode())
    rules.prepare_rules()
