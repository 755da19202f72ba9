"""The spelling that git has for a path, on a disk that ignores case or normal form."""

from __future__ import annotations

import os
from itertools import islice
from unicodedata import normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


_MOST = 64  # files below a directory by which its spelling is found


def find_relative(repo: Repo, path: str) -> str | None:
    """An absolute path, relative to the worktree's root, as git spells it; None outside of it.
    Tracked names are spelled as in the index, others as on the disk."""
    spelled = find_on_disk(repo, path)
    ignores_case = repo.config.get_flag("core.ignorecase")
    return _find_tracked(repo, spelled) if spelled and ignores_case else spelled


def find_on_disk(repo: Repo, path: str) -> str | None:
    """An absolute path, relative to the worktree's root, as its directories spell it, in NFC; None
    outside of it.  Missing names stay as they are."""
    inside = _find_inside(repo.worktree, path)
    if inside is None:
        return None
    ignores_case = repo.config.get_flag("core.ignorecase")
    spelled = ""
    for name in inside.split("/"):
        folder = os.path.join(repo.worktree, spelled)
        spelled = os.path.join(spelled, _find_name(folder, name, ignores_case))
    return normalize("NFC", spelled)


def _find_inside(top: str, path: str) -> str | None:
    root, (folder, inside) = os.stat(top), os.path.split(path)
    while True:
        try:
            if os.path.samestat(os.stat(folder), root):
                return inside
        except OSError:
            pass  # the directory does not exist yet
        folder, name = os.path.split(folder)
        if not name:
            return None
        inside = f"{name}/{inside}"


def _find_name(folder: str, name: str, ignores_case: bool) -> str:
    try:
        names = os.listdir(folder)
    except OSError:
        return name
    if name in names:
        return name
    folded = fold(name, ignores_case)
    return next((entry for entry in names if fold(entry, ignores_case) == folded), name)


def fold(name: str, ignores_case: bool = True) -> str:
    """A key that is equal for all names of one file."""
    return normalize("NFD", name).casefold() if ignores_case else normalize("NFD", name)


def _find_tracked(repo: Repo, path: str) -> str:
    """A path with its tracked part spelled as in the index."""
    git = repo.git.copy_with(None, {"GIT_LITERAL_PATHSPECS": "0"})
    begin, end = path, ""
    while begin:
        escaped = "".join(f"\\{c}" if c in "*?[\\" else c for c in begin)
        tracked = git.stream_records("ls-files", "-z", "--", f":(top,icase){escaped}")
        if names := {os.fsdecode(name)[: len(begin)] for name in islice(tracked, _MOST)}:
            return (begin if begin in names else min(names)) + end
        begin, _, name = begin.rpartition("/")
        end = f"/{name}{end}"
    return path
