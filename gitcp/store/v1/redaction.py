"""The redactor of a repository: the built-in rules and those of its configuration."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.core import config_table
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.redact.personal import Personal
    from gitcp.core.redact.redactor import Redactor
    from gitcp.repo import Repo

_WORDS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,;!?'()\n"
_LONGEST = 15  # bytes of a word: what follows `Bearer ` is a secret from 16 on
# What stands for a text while it cannot be told what in it is secret.
WITHHELD = "(withheld: a rule of gitcp.redact cannot be read)"
_OF_REPOSITORY: dict[str, Redactor] = memory.table("redactors")


def redactor(repo: Repo, session: str = "") -> Redactor:
    """One Redactor a process and repository (gitcp.redact, gitcp.redact-allow), which tells
    persons apart within a session (gitcp.redact-personal).

    Raises InputError naming a rule that cannot be read.
    """
    if repo.common not in _OF_REPOSITORY:
        from gitcp.store.redact import kept_patterns

        kept_patterns.load()
        from gitcp.core.redact.redactor import Redactor

        extra, allowed = repo.config.all("gitcp.redact"), _readable(repo, "gitcp.redact-allow")
        _OF_REPOSITORY[repo.common] = Redactor(extra, allowed, _personal(repo))
        kept_patterns.save()
    return _OF_REPOSITORY[repo.common].of_session(session)


def _personal(repo: Repo) -> Personal | None:
    """What is looked for of persons; None for nothing."""
    kinds, labels = _persons(repo), repo.config.keys(config_table.LABELS, "")
    if not kinds and not labels:
        return None
    from gitcp.core.redact.personal import Personal

    names = [
        line for kind in kinds if kind.startswith("name:") for line in _read_names(repo, kind[5:])
    ]
    sources = {key.removeprefix(config_table.LABELS): repo.config.get(key) for key in labels}
    return Personal(kinds, names, sources, "")


def _persons(repo: Repo) -> list[str]:
    return config_table.words(repo.config.option("gitcp.redact-personal") or "")


def _read_names(repo: Repo, path: str) -> list[str]:
    """The names in a file, one a line; a path is from the root of the worktree."""
    place = os.path.join(repo.top or repo.common, os.path.expanduser(path))
    try:
        with open(place, encoding="utf-8") as f:
            return [name for line in f if (name := line.strip()) and not name.startswith("#")]
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"gitcp.redact-personal: cannot read '{path}': {e}") from None


def rules(repo: Repo) -> str:
    """One word for the rules that redactor() goes by: another one where they change."""
    from hashlib import sha256

    from gitcp.store.redact import kept_patterns
    from gitcp.version import VERSION

    # What is personal is no secret that keeps a push back.
    own = repo.config.all("gitcp.redact"), repo.config.all("gitcp.redact-allow")
    return sha256(repr((VERSION, kept_patterns.table(), own)).encode()).hexdigest()


def readable(repo: Repo) -> bool:
    """Whether every rule of gitcp.redact and what is said of persons can be read.  Where one
    cannot, nobody knows which text holds the secret: hooks store none until it can."""
    if _readable(repo, "gitcp.redact") != repo.config.all("gitcp.redact"):
        return False
    key = "gitcp.redact-personal"
    if any(config_table.complaint(config_table.KEYS[key], t) for t in repo.config.all(key)):
        return False
    try:
        _personal(repo)
    except InputError:
        return False
    return True


def _readable(repo: Repo, key: str) -> list[str]:
    about = config_table.KEYS[key]
    return [rule for rule in repo.config.all(key) if not config_table.complaint(about, rule)]


class Lazy:
    """A redactor that is made on its first use: most hooks have nothing new to redact."""

    def __init__(self, repo: Repo, session: str) -> None:
        self._repo, self._session = repo, session

    def text(self, data: bytes) -> bytes:
        return redactor(self._repo, self._session).text(data) if data else data

    def jsonl(self, data: bytes) -> bytes:
        return redactor(self._repo, self._session).jsonl(data) if data else data

    def document(self, data: bytes) -> bytes:
        return redactor(self._repo, self._session).document(data) if data else data


def text(repo: Repo, given: str, session: str = "") -> str:
    """A text with its secrets replaced; WITHHELD while a rule cannot be read."""
    if not readable(repo):
        return WITHHELD
    data = given.encode("utf-8", "surrogatepass")
    if not words_only(data) or repo.config.all("gitcp.redact") or _looks_for_persons(repo):
        data = redactor(repo, session).text(data)
    return data.decode("utf-8", "replace")


def _looks_for_persons(repo: Repo) -> bool:
    return bool(_persons(repo) or repo.config.keys(config_table.LABELS, ""))


def words_only(data: bytes) -> bool:
    """Whether a text is nothing but words, as most prompts are: no rule finds a secret there.

    Every rule needs a separator such as `=` or `:`, a run longer than most words, or says what
    it is (`machine … password …`); to know that saves a hook importing them all.
    """
    if b"passw" in data.lower():
        return False
    return not data.translate(None, _WORDS) and max(map(len, data.split()), default=0) <= _LONGEST
