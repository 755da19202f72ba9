"""What the sh guard of git's hooks cannot ask, as files that it looks at.

A file <dir>/gitcp/configured/<hook> starts Python at every such hook: one has a pipeline
configured.  The directory is the repository's, or the worktree's where each worktree has a
configuration of its own.

<git-dir>/gitcp/watched has the paths of agents' settings from the top of the worktree, one a line:
those that a `git clean -fdx` would take.  The hook that misses one says so once, and takes the list
away.
"""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.process import files
from gitcp.record import encode_lines
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.setup.manifest import Manifest

HOOKS = (
    *("prepare-commit-msg", "commit-msg", "post-commit"),
    *("post-checkout", "post-rewrite", "pre-push"),
)


def write_configured(repo: Repo) -> None:
    """Make the files say what the configuration says now."""
    own = repo.config.get_flag("extensions.worktreeconfig")
    folder = repo.join_own("configured") if own else repo.join_shared("configured")
    wanted = {hook for hook in HOOKS if repo.config.get_all(f"gitcp.{hook}.pipeline")}
    try:
        present = set(files.list_names(folder))
        for hook in wanted - present:
            repo.make_folder(folder)
            os.close(os.open(os.path.join(folder, hook), os.O_WRONLY | os.O_CREAT, 0o644))
        for hook in present - wanted:
            files.remove_file(os.path.join(folder, hook))
    except OSError as e:
        raise Error(f"cannot write '{folder}': {e.strerror}") from None


def clear_configured(repo: Repo) -> None:
    """Take the files away, as when the hooks go."""
    for folder in dict.fromkeys((repo.join_own("configured"), repo.join_shared("configured"))):
        for hook in HOOKS:
            files.remove_file(os.path.join(folder, hook))
        files.remove_if_empty(folder)


def write_watched(repo: Repo, record: Manifest) -> None:
    """Make the list name the settings that enable wrote and that are in this worktree."""
    top = os.path.realpath(repo.worktree) + os.sep
    paths = [record.get_path(entry) for entry in record.entries if entry.get("agent")]
    here = [path.removeprefix(top) for path in paths if path.startswith(top)]
    present = [path for path in here if os.path.exists(top + path) and "\n" not in path]
    if present:
        private.write_private(repo, repo.join_own("watched"), encode_lines(present))
    else:
        clear_watched(repo)


def clear_watched(repo: Repo) -> None:
    """Look for nothing any more."""
    private.remove_private(repo, repo.join_own("watched"))
