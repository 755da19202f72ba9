"""Commits that our own hooks have judged, to tell those that no hook of ours has seen.

<git-dir>/gitcp/judged, a line for each commit: `<oid>`, written when everything that follows
from it is done.  A commit that is not there was made without our hooks, or they were killed;
<git-dir>/gitcp/looked is HEAD when that was last looked into, so that it costs nothing.
"""

from __future__ import annotations

from gitcp.core.upkeep.shapes import object_name
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_MOST = 200  # commits remembered


def read(repo: Repo) -> list[str]:
    """The oids of the commits judged in this worktree, oldest first."""
    return private.words(repo.own("judged"), object_name)


def add(repo: Repo, commit: str, parent: str) -> None:
    """Everything that follows from this commit is done."""
    known = [oid for oid in read(repo) if oid != commit]
    private.write_words(repo, repo.own("judged"), [*known, commit][-_MOST:])
    if looked(repo) == parent:
        look(repo, commit)


def looked(repo: Repo) -> str:
    """Where HEAD was when no commit here was left to be judged, '' when that is not known."""
    return "".join(private.words(repo.own("looked"), object_name))


def look(repo: Repo, head: str) -> None:
    """No commit up to head is left to be judged, for any session that is not at work."""
    private.write_words(repo, repo.own("looked"), [head])


def any_commit(repo: Repo, head: str) -> bool:
    """Whether HEAD is where nobody has looked yet."""
    return bool(head.strip("0")) and looked(repo) != head
