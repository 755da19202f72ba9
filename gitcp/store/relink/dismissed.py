"""Ids whose line a person took out of a commit: nothing links them again by itself.

<common>/gitcp/dismissed, an id a line.  `gitcp link` may link them still.
"""

from __future__ import annotations

from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo


def read(repo: Repo) -> set[str]:
    """The ids that were dismissed in this repository."""
    try:
        with open(repo.shared("dismissed"), encoding="utf-8", errors="replace") as f:
            return set(f.read().split())
    except OSError:
        return set()


def add(repo: Repo, ids: Iterable[str]) -> None:
    """The person has said no to these."""
    lines = "".join(f"{one}\n" for one in sorted({*read(repo), *ids}))
    states.write_file(repo, repo.shared("dismissed"), lines.encode())


def remove(repo: Repo, checkpoint_id: str) -> None:
    """The person has linked it by hand."""
    left = sorted(read(repo) - {checkpoint_id})
    states.write_file(repo, repo.shared("dismissed"), "".join(f"{i}\n" for i in left).encode())
