"""The repositories of a workspace."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.git import Git
from gitcp.git.gitdir import ask_config
from gitcp.git.repo import Repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_DEEPEST = 6  # levels of directories that are searched
_SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "target", "vendor"))


def list_repositories(directories: Sequence[str]) -> list[Repo]:
    """The enabled repositories in and below directories, each once, sorted by path.

    A repository with several worktrees is given by its main one, if that is found.  Without
    directories those of `gitcp.workspace`, else the current repository.  Raises Error for a path
    that is not a directory, and without a current repository.
    """
    places = list(directories) or _read_workspace()
    if not places:
        return [Repo.find_here()]
    enabled = [repo for repo in find_below(places) if os.path.isdir(repo.join_shared())]
    return sorted(enabled, key=lambda repo: repo.top or repo.common)


def _read_workspace() -> list[str]:
    """The directories of `gitcp.workspace`, also outside of a repository."""
    try:
        return Repo.find_here().config.get_all("gitcp.workspace")
    except Error:
        return ask_config(Git()).get("gitcp.workspace", [])


def find_below(directories: Sequence[str]) -> list[Repo]:
    """The repositories in and below directories, each once, by the main worktree if that is found.
    Raises Error for a path that is not a directory."""
    by_common: dict[str, Repo] = {}
    for place in directories:
        top = os.path.abspath(os.path.expanduser(place))
        if not os.path.isdir(top):
            raise Error(f"not a directory: '{place}'")
        for folder in _walk_checkouts(top):
            try:
                repo = Repo.find(folder)
            except Error:
                continue  # git refuses it, or it is not a repository
            if not (repo.worktree_id and repo.common in by_common):
                by_common[repo.common] = repo
    return list(by_common.values())


def _walk_checkouts(top: str) -> Iterator[str]:
    """The directories with a `.git` or `.jj` in them; such a directory is not searched further."""
    level = [top]
    for _ in range(_DEEPEST + 1):
        below: list[str] = []
        for folder in level:
            names = {entry.name: entry for entry in _list_entries(folder)}
            if ".git" in names or ".jj" in names:
                yield folder
            else:
                below += [e.path for name, e in names.items() if _is_open(name, e)]
        level = sorted(below)


def _list_entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()


def _is_open(name: str, entry: os.DirEntry[str]) -> bool:
    return name[:1] != "." and name not in _SKIPPED and entry.is_dir(follow_symlinks=False)
