"""Files by which git's hooks in sh decide without starting Python.

<dir>/gitcp/configured/<hook> exists if a pipeline is configured for a hook: then the hook always
starts Python.  <dir> is the common directory, or the worktree's own git directory if
extensions.worktreeConfig is set.

<git-dir>/gitcp/watched lists the agents' settings that enable wrote into the worktree, which
`git clean -fdx` would delete, one path a line.  The hook that finds one missing warns once and
removes the list.
"""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.config_table import MANUAL
from gitcp.record import CONFIGURED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.setup.takeover import Manifest


def write_configured(repo: Repo) -> None:
    """Create and remove the files of `configured` by the current configuration."""
    is_per_worktree = repo.config.get_flag("extensions.worktreeconfig")
    if is_per_worktree:
        folder = repo.join_own(CONFIGURED)
    else:
        folder = repo.join_shared(CONFIGURED)

    from gitcp.setup.hook_texts import HOOKS

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
    """Remove the files of `configured`."""
    for folder in dict.fromkeys((repo.join_own(CONFIGURED), repo.join_shared(CONFIGURED))):
        from gitcp.setup.hook_texts import HOOKS

        for hook in HOOKS:
            files.remove_file(os.path.join(folder, hook))
        files.remove_if_empty(folder)


def clear_ran(repo: Repo) -> None:
    """Remove `ran`, by which a hook in a file sees that git has run the configured one."""
    folder = repo.join_own("ran")
    for name in files.list_names(folder):
        files.remove_file(os.path.join(folder, name))
    files.remove_if_empty(folder)


def write_watched(repo: Repo, record: Manifest) -> None:
    """List in `watched` the settings in this worktree that enable wrote."""
    top = os.path.realpath(repo.worktree) + os.sep
    paths = [record.get_path(entry) for entry in record.entries if entry.get("agent")]
    here = [path.removeprefix(top) for path in paths if path.startswith(top)]
    present = [path for path in here if os.path.exists(top + path) and "\n" not in path]
    if present:
        from gitcp.git.records import encode_lines

        files.write_private(repo, repo.join_own("watched"), encode_lines(present))
    else:
        clear_watched(repo)


def clear_watched(repo: Repo) -> None:
    """Remove `watched`."""
    files.remove_private(repo, repo.join_own("watched"))


# Read the strategy, which decides what a turn's end makes (doc/behaviour.md "Strategies").


def get_strategy(repo: Repo) -> str:
    """MANUAL or AUTO, as configured; MANUAL in a jj workspace, where jj makes the commits."""
    return MANUAL if repo.jj else get_configured(repo)


def get_configured(repo: Repo) -> str:
    """gitcp.strategy: MANUAL (default; formerly 'shadow') or AUTO (formerly 'dual')."""

    from gitcp.setup import entire_settings

    return entire_settings.find_strategy(repo.config.get_option("gitcp.strategy")) or MANUAL
