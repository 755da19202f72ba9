"""The redactor of a repository: the built-in rules and those of its configuration."""

from __future__ import annotations

from gitcp.core import config_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.redact.redactor import Redactor
    from gitcp.repo import Repo

_WORDS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,;!?'()\n"
_LONGEST = 15  # bytes of a word: what follows `Bearer ` is a secret from 16 on
# What stands for a text while it cannot be told what in it is secret.
WITHHELD = "(withheld: a rule of gitcp.redact cannot be read)"
_OF_REPOSITORY: dict[str, Redactor] = {}


def redactor(repo: Repo) -> Redactor:
    """One Redactor a process and repository (gitcp.redact, gitcp.redact-allow).

    Raises InputError naming a rule of gitcp.redact that cannot be read.
    """
    if repo.common not in _OF_REPOSITORY:
        from gitcp.store.redact import kept_patterns

        kept_patterns.load()
        from gitcp.core.redact.redactor import Redactor

        extra, allowed = repo.config.all("gitcp.redact"), _readable(repo, "gitcp.redact-allow")
        _OF_REPOSITORY[repo.common] = Redactor(extra, allowed)
        kept_patterns.save()
    return _OF_REPOSITORY[repo.common]


def rules(repo: Repo) -> str:
    """One word for the rules that redactor() goes by: another one where they change."""
    from hashlib import sha256

    from gitcp.store.redact import kept_patterns
    from gitcp.version import VERSION

    own = repo.config.all("gitcp.redact"), repo.config.all("gitcp.redact-allow")
    return sha256(repr((VERSION, kept_patterns.table(), own)).encode()).hexdigest()


def readable(repo: Repo) -> bool:
    """Whether every rule of gitcp.redact can be read.  Where one cannot, nobody knows which text
    holds the secret: hooks store none until it can."""
    return _readable(repo, "gitcp.redact") == repo.config.all("gitcp.redact")


def _readable(repo: Repo, key: str) -> list[str]:
    about = config_table.KEYS[key]
    return [rule for rule in repo.config.all(key) if not config_table.complaint(about, rule)]


class Lazy:
    """A redactor that is made on its first use: most hooks have nothing new to redact."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def text(self, data: bytes) -> bytes:
        return redactor(self._repo).text(data) if data else data

    def jsonl(self, data: bytes) -> bytes:
        return redactor(self._repo).jsonl(data) if data else data

    def document(self, data: bytes) -> bytes:
        return redactor(self._repo).document(data) if data else data


def text(repo: Repo, given: str) -> str:
    """A text with its secrets replaced; WITHHELD while a rule cannot be read."""
    if not readable(repo):
        return WITHHELD
    data = given.encode("utf-8", "surrogatepass")
    if not words_only(data) or repo.config.all("gitcp.redact"):
        data = redactor(repo).text(data)
    return data.decode("utf-8", "replace")


def words_only(data: bytes) -> bool:
    """Whether a text is nothing but words, as most prompts are: no rule finds a secret there.

    Every rule needs a separator such as `=` or `:`, a run longer than most words, or says what
    it is (`machine … password …`); to know that saves a hook importing them all.
    """
    if b"passw" in data.lower():
        return False
    return not data.translate(None, _WORDS) and max(map(len, data.split()), default=0) <= _LONGEST
