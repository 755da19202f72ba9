"""The settings of agents that a `git clean -fdx` would take: the sh guard looks for them.

<git-dir>/gitcp/watched has their paths from the top of the worktree, one a line; the hook
that misses one says so once, and takes the list away.
"""

from __future__ import annotations

import os

from gitcp.record import one_a_line
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.setup.manifest import Manifest


def write(repo: Repo, known: Manifest) -> None:
    """Make the list name the settings that enable wrote and that are in this worktree."""
    top = os.path.realpath(repo.worktree) + os.sep
    paths = [known.path(entry) for entry in known.entries if entry.get("agent")]
    here = [path.removeprefix(top) for path in paths if path.startswith(top)]
    there = [path for path in here if os.path.exists(top + path) and "\n" not in path]
    if there:
        private.write(repo, repo.own("watched"), one_a_line(there))
    else:
        clear(repo)


def clear(repo: Repo) -> None:
    """Look for nothing any more."""
    private.remove(repo, repo.own("watched"))
