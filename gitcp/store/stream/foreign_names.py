"""Branches of the person's that are named like streams: known, so that other names are taken.

<common>/gitcp/foreign, a full ref a line.
"""

from __future__ import annotations

from gitcp.core.upkeep import shapes
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_KNOWN: dict[str, frozenset[str]] = {}


def read(repo: Repo) -> frozenset[str]:
    """The names to leave alone in this repository."""
    if repo.common not in _KNOWN:
        _KNOWN[repo.common] = frozenset(private.words(repo.shared("foreign"), shapes.ref))
    return _KNOWN[repo.common]


def add(repo: Repo, ref: str) -> None:
    """Leave this name alone from now on."""
    _KNOWN[repo.common] = read(repo) | {ref}
    private.write_words(repo, repo.shared("foreign"), sorted(_KNOWN[repo.common]))
