"""Find the files that git tracks, and make it ignore gitcp's files by <common>/info/exclude."""

from __future__ import annotations

import os

from gitcp.core.setup import installation
from gitcp.process import files
from gitcp.record import decode_name, encode_name
from gitcp.store.snapshot.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo


def list_tracked(repo: Repo, paths: Iterable[str]) -> list[str]:
    """Those of paths (absolute) that are in git's index."""
    top, inside = _list_inside(repo, paths)
    if not inside:
        return []
    tracked = repo.git.read_records("ls-files", "-z", "--", *map(encode_name, inside))
    return [os.path.join(top, decode_name(path)) for path in tracked]


def list_addable(repo: Repo, paths: Iterable[str]) -> list[str]:
    """Those of paths (absolute) that `git add -A` would add, relative to the top."""
    top, inside = _list_inside(repo, paths)
    inside = [path for path in inside if path.partition("/")[0] != ".git"]
    tracked = {os.path.relpath(path, top) for path in list_tracked(repo, paths)}
    ignored = Worktree(repo).list_ignored(inside)
    return [path for path in inside if path not in tracked | ignored]


def _list_inside(repo: Repo, paths: Iterable[str]) -> tuple[str, list[str]]:
    """(the top of the worktree, those of paths below it, relative to it)."""
    top = os.path.realpath(repo.worktree)
    return top, [os.path.relpath(os.path.realpath(p), top) for p in paths if is_inside(p, top)]


def plan_exclude(repo: Repo, paths: list[str]) -> Write:
    """The write that makes git ignore paths, relative to the top, in this clone."""
    path = os.path.join(repo.common, "info", "exclude")
    after, lines = installation.exclude_paths(decode_name(files.read_bytes(path) or b""), paths)
    note = f"wrote '{path}', to keep {', '.join(paths)} out of commits"
    data = encode_name(after)
    return {"path": path, "kind": "exclude", "data": data, "note": note, "lines": lines}


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a directory, symbolic links resolved."""
    real = os.path.realpath(folder)
    return os.path.realpath(path).startswith(real + os.sep)
