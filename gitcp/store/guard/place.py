"""Which working copy has a path: that of a tool's target, not of the session's directory."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.repo import Repo
from gitcp.start import late
from gitcp.store.session import turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def group_by_working_copy(home: Repo, paths: Iterable[str]) -> list[tuple[Repo, list[str]]]:
    """(working copy, paths relative to its root) for absolute paths; others are left out.

    home comes first if it has any.  A worktree inside home is a working copy of its own.
    """
    copies: dict[str, tuple[Repo, list[str]]] = {}
    for path in (target for name in paths for target in turn_log.list_targets(name)):
        repo, inside = _find_owner(home, path)
        if repo and inside:
            copies.setdefault(repo.worktree, (repo, []))[1].append(inside)
    return sorted(copies.values(), key=lambda item: item[0] is not home)


def _find_owner(home: Repo, path: str) -> tuple[Repo | None, str | None]:
    """The working copy of a path, and the path relative to its root."""
    inside = turn_log.find_relative_path(home, path)
    folder = os.path.realpath(os.path.dirname(path))
    root = os.path.realpath(home.worktree)
    nearest = _find_root(folder, root if inside else None)
    if nearest is None:
        return None, None
    if nearest == root or os.path.samefile(nearest, root):
        return home, inside
    try:
        outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        repo = Repo.find(nearest, outside)
    except Error:
        return home, inside
    return (repo, turn_log.find_relative_path(repo, path)) if repo.top else (None, None)


def _find_root(folder: str, stop: str | None) -> str | None:
    """The nearest directory from folder up to stop that is the root of a repository."""
    while folder != stop:
        has_git, has_jj = (os.path.lexists(f"{folder}/{name}") for name in (".git", ".jj"))
        if has_git or (has_jj and late.jj.begins_workspace(folder)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return stop
