"""The author of each line, committed or not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo


def locate_shared(repo: Repo) -> str:
    """The flag that the note has all times at which this clone recorded."""
    return repo.join_shared_cache("recording-shared")
