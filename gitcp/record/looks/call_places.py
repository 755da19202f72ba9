"""The worktrees of a repository in which a call of a shell may write without naming a file: that of
its working directory, those that its words or its output name, and those that were made during it.
In any other, only evidence that names a path gives the call anything."""

from __future__ import annotations

import os

from gitcp.git import files
from gitcp.record.journal import find_root, find_worktree, get_git_dir, read_look
from gitcp.record.looks import credit_cases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Event

_MOST_FOLDERS = 8  # directories into which a command changes that are followed


class CallPlaces:
    """The worktrees of a call.

    is_here: whether the worktree of its session's home is one.  others: the others, that of the
    working directory first.  looked_at: the roots of those that are looked at as a whole."""

    def __init__(self, is_here: bool, others: list[Repo], looked_at: Collection[str]) -> None:
        self.is_here = is_here
        self.others = others
        self.looked_at = looked_at


def find_places(repo: Repo, event: Event, begun: int | None = None) -> CallPlaces:
    """The worktrees of an event's call.  repo: its session's home.  begun: when a call that has
    ended began, in ns; None at its start, or if that is not known."""
    tool = event["tool"]
    folder = os.path.realpath(event.get("cwd") or repo.worktree)
    roots = map_roots(repo)
    names = [_find_name(folder, roots, repo.worktree_id)]
    command = str(tool.get("command") or "")
    for path in _list_paths(command, credit_cases.list_folders(command, folder)[:_MOST_FOLDERS]):
        names.append(_find_name(path, roots))
    output = str(tool.get("output") or "")
    if output:
        for path in _list_paths(output, [folder]):
            names.append(_find_name(path, roots))
    if begun is not None:
        names += _list_made(repo, begun)
    chosen = [name for name in dict.fromkeys(names) if name is not None]
    others = []
    for name in chosen:
        other = None
        if name != repo.worktree_id:
            other = find_worktree(repo, name)
        if other:
            others.append(other)
    is_here = repo.worktree_id in chosen
    places = others
    if is_here:
        places = [repo, *others]
    return CallPlaces(is_here, others, _choose_looked_at(repo, places))


def map_roots(repo: Repo) -> dict[str, str]:
    """The root of each worktree -> git's name of the worktree."""
    roots = {repo.worktree: repo.worktree_id}
    above, file = os.path.split(repo.common)
    if file == ".git":
        roots[above] = ""
    for name in files.list_names(os.path.join(repo.common, "worktrees")):
        root = find_root(repo, name)
        if root:
            roots[root] = name
    return roots


def _list_paths(text: str, folders: Iterable[str]) -> Iterable[str]:
    """The paths that the words of a text may mean, seen from these directories."""
    words = credit_cases.list_words(text)
    for folder in folders:
        yield folder
        for word in words:
            path = os.path.expanduser(word)
            if os.path.isabs(path):
                yield os.path.realpath(path)
            else:
                yield os.path.normpath(os.path.join(folder, path))


def _find_name(path: str, roots: dict[str, str], default: str | None = None) -> str | None:
    """git's name of the worktree that an absolute path is in; default without one."""
    while path not in roots:
        above = os.path.dirname(path)
        if above == path:
            return default
        path = above
    return roots[path]


def _list_made(repo: Repo, since: int) -> list[str]:
    """git's names of the worktrees that were made since a time in ns."""
    folder = os.path.join(repo.common, "worktrees")
    made = []
    if _read_mtime(folder) < since:
        return []
    for name in files.list_names(folder):
        # git writes this file once
        if _read_mtime(os.path.join(get_git_dir(repo, name), "commondir")) >= since:
            made.append(name)
    return made


def _read_mtime(path: str) -> int:
    """When a path was last written, in ns; 0 without it."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _choose_looked_at(repo: Repo, places: list[Repo]) -> set[str]:
    """The roots of the worktrees that are looked at as a whole: the first one, and of the others as
    many as gitcp.look-budget allows for all together.

    One that was never looked at costs what the session's home does."""
    if len(places) < 2:
        return {place.worktree for place in places}
    budget = int(repo.config.get_option("gitcp.look-budget")) * 1000  # us
    home_cost = int(read_look(repo).get("cost", 0))
    chosen: set[str] = set()
    spent = 0
    for place in places:
        cost = int(read_look(place).get("cost", home_cost))
        if spent and spent + cost > budget:
            continue
        chosen.add(place.worktree)
        spent += cost
    return chosen
