"""The redactor of a repository: the built-in rules and those of its configuration."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.redact import Redactor
    from gitcp.repo import Repo

_MADE: dict[str, Redactor] = {}


def redactor(repo: Repo) -> Redactor:
    """One Redactor a process and repository (gitcp.redact, gitcp.redact-allow)."""
    from gitcp.core.redact import Redactor

    if repo.common not in _MADE:
        extra, allowed = repo.config.all("gitcp.redact"), repo.config.all("gitcp.redact-allow")
        _MADE[repo.common] = Redactor(extra, allowed)
    return _MADE[repo.common]


def text(repo: Repo, given: str) -> str:
    """A text with its secrets replaced."""
    data = redactor(repo).text(given.encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "replace")
