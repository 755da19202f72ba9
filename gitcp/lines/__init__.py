"""The author of each line, committed or not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo


def locate_unshared(repo: Repo) -> str:
    """The flag that the note lacks some of the times at which this clone recorded."""
    return repo.join_shared("recording-unshared")
