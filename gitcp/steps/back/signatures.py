"""The signatures of files, by which a change since they were read is seen."""

from __future__ import annotations

import os

from gitcp.record.snapshot import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.repo import Repo

    Signature = tuple[int, int, int, int, int] | None  # None: nothing stands there


def read_signatures(repo: Repo, paths: Iterable[str]) -> dict[str, Signature]:
    """path -> signature, by which later changes are seen; None for a file that does not exist or
    is behind a symbolic link."""
    worktree = Worktree(repo)
    names = list(paths)
    unlisted = find_other_names(repo, names)
    signs: dict[str, Signature] = {}
    for path in names:
        signs[path] = None
        if path not in unlisted:
            signs[path] = _build_signature(worktree.look_at(path))
    return signs


def find_other_names(repo: Repo, paths: Iterable[str]) -> set[str]:
    """Among paths that differ in case only, those whose file has another spelling on disk."""
    if not repo.config.get_flag("core.ignorecase"):
        return set()
    by_fold: dict[str, list[str]] = {}
    for path in paths:
        by_fold.setdefault(path.casefold(), []).append(path)
    worktree = Worktree(repo)
    found: set[str] = set()
    for twins in by_fold.values():
        if len(twins) > 1:
            found.update(path for path in twins if not worktree.is_listed(path))
    return found


def read_signature(name: bytes, folder: int) -> Signature:
    """The signature of a file in an open directory; None if it does not exist."""
    try:
        return _build_signature(os.lstat(name, dir_fd=folder))
    except FileNotFoundError:
        return None


def _build_signature(st: os.stat_result | None) -> Signature:
    if st:
        return (st.st_mode, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
    return None
