"""What hooks remember of commits: which were judged, where HEAD was looked at, what was refused.

A line each: the oid of a commit in <git-dir>/gitcp/judged, written when everything that follows
from it is done, so that one that is not there was made without our hooks, or they were killed;
the oid of HEAD when that was last looked into in <git-dir>/gitcp/looked, so that it costs nothing;
in <common>/gitcp/dismissed the id of a checkpoint that a person took off a commit.
"""

from __future__ import annotations

from gitcp.core.upkeep import shapes
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo

_MOST = 200  # commits remembered


def read_judged(repo: Repo) -> list[str]:
    """The oids of the commits judged in this worktree, oldest first."""
    return private.read_words(repo.join_own("judged"), shapes.is_object_name)


def add_judged(repo: Repo, commit: str, parent: str) -> None:
    """Remember that everything that follows from this commit is done."""
    earlier = [oid for oid in read_judged(repo) if oid != commit]
    private.write_words(repo, repo.join_own("judged"), [*earlier, commit][-_MOST:])
    if read_looked(repo) == parent:
        write_looked(repo, commit)


def read_looked(repo: Repo) -> str:
    """Where HEAD was when no commit here was left to be judged, '' when that is not known."""
    return "".join(private.read_words(repo.join_own("looked"), shapes.is_object_name))


def write_looked(repo: Repo, head: str) -> None:
    """Remember that no commit up to head is left to be judged, for any session not at work."""
    private.write_words(repo, repo.join_own("looked"), [head])


def is_unseen(repo: Repo, head: str) -> bool:
    """Whether HEAD is where nobody has looked yet."""
    return bool(head.strip("0")) and read_looked(repo) != head


def read_refused(repo: Repo) -> set[str]:
    """The ids that a person refused in this repository: nothing but `gitcp link` links them."""
    return set(private.read_words(repo.join_shared("dismissed"), shapes.is_short_id))


def write_refused(repo: Repo, ids: Iterable[str], allowed: str = "") -> None:
    """Remember that the person refuses these as well, and no longer the one that is allowed."""
    refused = {*read_refused(repo), *ids} - {allowed}
    private.write_words(repo, repo.join_shared("dismissed"), sorted(refused))
