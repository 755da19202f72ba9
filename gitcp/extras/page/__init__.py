"""A page for review: the change, who wrote it and why."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo


def locate_page(repo: Repo) -> str:
    """The newest page that was written without a name for it."""
    return repo.join_own_cache("page.html")
