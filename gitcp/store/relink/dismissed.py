"""Ids whose line a person took out of a commit: nothing links them again by itself.

<common>/gitcp/dismissed, an id a line.  `gitcp link` may link them still.
"""

from __future__ import annotations

from gitcp.core.upkeep import shapes
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo


def read(repo: Repo) -> set[str]:
    """The ids that were dismissed in this repository."""
    return set(private.words(repo.shared("dismissed"), shapes.id))


def add(repo: Repo, ids: Iterable[str]) -> None:
    """The person has said no to these."""
    private.write_words(repo, repo.shared("dismissed"), sorted({*read(repo), *ids}))


def remove(repo: Repo, checkpoint_id: str) -> None:
    """The person has linked it by hand."""
    private.write_words(repo, repo.shared("dismissed"), sorted(read(repo) - {checkpoint_id}))
