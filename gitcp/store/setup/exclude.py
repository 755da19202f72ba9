"""Which files are git's to carry, and lines in <common>/info/exclude for those that are not."""

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
    top = os.path.realpath(repo.worktree)
    asked = [os.path.relpath(os.path.realpath(p), top) for p in paths if is_inside(p, top)]
    paths_there = (
        repo.git.read_records("ls-files", "-z", "--", *map(encode_name, asked)) if asked else []
    )
    return [os.path.join(top, decode_name(path)) for path in paths_there]


def list_addable(repo: Repo, paths: Iterable[str]) -> list[str]:
    """Those of paths (absolute) that `git add -A` would take up, relative to the top."""
    top = os.path.realpath(repo.worktree)
    asked = [os.path.relpath(os.path.realpath(p), top) for p in paths if is_inside(p, top)]
    asked = [path for path in asked if path.partition("/")[0] != ".git"]
    tied = {os.path.relpath(path, top) for path in list_tracked(repo, paths)}
    hidden = Worktree(repo).list_ignored(asked)
    return [path for path in asked if path not in tied | hidden]


def plan_exclude(repo: Repo, paths: list[str]) -> Write:
    """What keeps names, relative to the top, out of commits of this clone."""
    path = os.path.join(repo.common, "info", "exclude")
    after, lines = installation.exclude_paths(decode_name(files.read_bytes(path) or b""), paths)
    note = f"wrote '{path}', to keep {', '.join(paths)} out of commits"
    data = encode_name(after)
    return {"path": path, "kind": "exclude", "data": data, "note": note, "lines": lines}


def is_inside(path: str, folder: str) -> bool:
    """Whether a path, links followed, is below a directory."""
    real = os.path.realpath(folder)
    return os.path.realpath(path).startswith(real + os.sep)
