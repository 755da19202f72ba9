"""The repositories below directories in which gitcp records: looked for, never registered."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.git import Git
from gitcp.repo import Config, Repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DEEP = 6  # directories below the one that is named
_PASSED = frozenset(("node_modules", "__pycache__", "venv", "target", "vendor"))


def repositories(directories: Sequence[str]) -> list[Repo]:
    """The enabled repositories in and below these directories, each once, by their paths; of
    several worktrees the main one, where it is below.

    Without directories: of `gitcp.workspace`; where that is not set either, the one around here.
    Raises Error for what is no directory, and where there is no repository around here.
    """
    places = list(directories) or Config(Git()).all("gitcp.workspace")
    if not places:
        return [Repo.here()]
    by_common: dict[str, Repo] = {}
    for place in places:
        top = os.path.abspath(os.path.expanduser(place))
        if not os.path.isdir(top):
            raise Error(f"not a directory: '{place}'")
        for folder in _below(top):
            try:
                repo = Repo.find(folder)
            except Error:
                continue  # git refuses it, or it is none
            if os.path.isdir(repo.shared()) and not (repo.worktree_id and repo.common in by_common):
                by_common[repo.common] = repo
    return sorted(by_common.values(), key=lambda repo: repo.top or repo.common)


def _below(top: str) -> Iterator[str]:
    """The directories with a `.git` or `.jj` in them; what is in such a one is not looked at."""
    level = [top]
    for _ in range(_DEEP + 1):
        below: list[str] = []
        for folder in level:
            names = {entry.name: entry for entry in _entries(folder)}
            if ".git" in names or ".jj" in names:
                yield folder
            else:
                below += [e.path for name, e in names.items() if _is_open(name, e)]
        level = sorted(below)


def _entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()


def _is_open(name: str, entry: os.DirEntry[str]) -> bool:
    return name[:1] != "." and name not in _PASSED and entry.is_dir(follow_symlinks=False)
