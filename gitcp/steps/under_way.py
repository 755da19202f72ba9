"""What a killed step, split or bisection leaves below the git directory, and the lock that each
holds until its end: what a status asks of them, without what they do."""

from __future__ import annotations

import os

from gitcp.git import files
from gitcp.git.files import exclusive, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

SPLIT = "split"  # the folder of the repositories in which splits make their commits
BISECT = "bisect"  # the folder with the places of scratch worktrees
PREFIX = "gitcp-bisect-"  # of the name of a scratch worktree
_LINKS = "links"  # the file in SPLIT of what is to be stored of the commits


def list_steps(repo: Repo) -> list[str]:
    """The names below rewind/; under the log's lock no process is using any of them."""
    return files.list_names(repo.join_own("rewind"))


def hold_split(repo: Repo) -> exclusive:
    """The lock under which one process at a time splits; Busy at once if one does."""
    return exclusive(repo, f"split-{repo.worktree_hash}", timeout=0)


def list_splits(repo: Repo) -> list[str]:
    """The repositories of this worktree's splits.  Without the lock one of them may be in use."""
    names = [name for name in files.list_names(repo.join_own(SPLIT)) if name != _LINKS]
    return [repo.join_own(SPLIT, name) for name in names]


def get_links_path(repo: Repo) -> str:
    """Where a split notes the commits whose checkpoints it has yet to store."""
    return repo.join_own(SPLIT, _LINKS)


def is_unlinked(repo: Repo) -> bool:
    """Whether there is something to store of commits, unless their split runs."""
    return os.path.exists(get_links_path(repo))


def hold_bisection(repo: Repo) -> exclusive:
    """The lock under which one bisection at a time runs in a worktree; Busy at once if one does."""
    return exclusive(repo, f"bisect-{repo.worktree_hash}", timeout=0)


def list_scratch_worktrees(repo: Repo) -> list[str]:
    """The scratch worktrees that are noted here.  Without the lock one of them may be in use."""
    names = [n for n in files.list_names(repo.join_own(BISECT)) if n.startswith(PREFIX)]
    places = [(n, os.fsdecode(read_file(repo.join_own(BISECT, n)) or b"")) for n in names]
    return [place for name, place in places if os.path.basename(place) == name]


def get_place(repo: Repo) -> str:
    """Where a bisection in place notes what it tests."""
    return repo.join_own(BISECT, "in-place")


def is_in_place(repo: Repo) -> bool:
    """Whether a bisection in place runs, or was killed."""
    return os.path.exists(get_place(repo))
