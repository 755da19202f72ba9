"""What the sh guard of git's hooks cannot ask: which of them have a pipeline configured.

A file <dir>/gitcp/configured/<hook> starts Python at every such hook.  The directory is the
repository's, or the worktree's where each worktree has a configuration of its own.
"""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

HOOKS = (
    *("prepare-commit-msg", "commit-msg", "post-commit"),
    *("post-checkout", "post-rewrite", "pre-push"),
)


def write(repo: Repo) -> None:
    """Make the files say what the configuration says now."""
    own = repo.config.flag("extensions.worktreeconfig")
    folder = repo.own("configured") if own else repo.shared("configured")
    wanted = {hook for hook in HOOKS if repo.config.all(f"gitcp.{hook}.pipeline")}
    try:
        there = set(files.listed(folder))
        for hook in wanted - there:
            os.makedirs(folder, exist_ok=True)
            os.close(os.open(os.path.join(folder, hook), os.O_WRONLY | os.O_CREAT, 0o644))
        for hook in there - wanted:
            files.remove(os.path.join(folder, hook))
    except OSError as e:
        raise Error(f"cannot write '{folder}': {e.strerror}") from None


def clear(repo: Repo) -> None:
    """Take the files away, as when the hooks go."""
    for folder in dict.fromkeys((repo.own("configured"), repo.shared("configured"))):
        for hook in HOOKS:
            files.remove(os.path.join(folder, hook))
        files.remove_if_empty(folder)
