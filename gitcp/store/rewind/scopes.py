"""Paths that a person names, as they are named from the root of the worktree."""

from __future__ import annotations

import os

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def named(repo: Repo, path: str) -> str:
    """A path as it is named from the root of the worktree; Error when it lies outside."""
    top = os.path.realpath(repo.worktree)
    folder, name = os.path.split(os.path.abspath(path))
    whole = os.path.join(os.path.realpath(folder), name)
    inside = os.path.relpath(whole, top)
    if inside == ".." or inside.startswith("../"):
        raise Error(f"'{path}' is outside the worktree")
    return "" if inside == "." else inside
