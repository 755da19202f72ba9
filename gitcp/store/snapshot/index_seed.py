"""Fill our index from the person's: every step and its order matter
(doc/git.md "The index of a snapshot")."""

from __future__ import annotations

import os
import time

from gitcp.core.git import porcelain
from gitcp.store.snapshot.honest import honest
from gitcp.store.snapshot.index_file import distrust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def fill(repo: Repo, theirs: str, scratch: str) -> int:
    """Make the index file scratch: HEAD's entries, with the stat data that theirs knows.

    theirs may be missing.  Returns how many paths are too young for their stat data to be
    believed (a fresh clone): a later filling knows better.  Raises OSError, GitError.
    """
    # A second early: the file system's clock is coarser than ours.
    before = (int(time.time()) - 1) * 10**9
    dated = _copy(theirs, scratch)
    if dated is not None:
        _clear_flags(repo, scratch)
    head = repo.git.run("rev-parse", "-q", "--verify", "HEAD^{tree}", ok=(0, 1, 128))[1]
    honest(repo, scratch, "read-tree", "--reset", head.decode().strip() or repo.empty_tree)
    if dated is not None:
        distrust(scratch, dated // 10**9, repo.algo)
        os.utime(scratch, ns=(dated, dated))  # what was racy stays racy
    # Written even where nothing was refreshed: writing is what marks the racy entries that
    # were found to differ, and without the marks the new date would hide them.
    honest(repo, scratch, "update-index", "-q", "--refresh", "--force-write-index", ok=(0, 1))
    young = distrust(scratch, before // 10**9, repo.algo)
    os.utime(scratch, ns=(before, before))
    return young


def _clear_flags(repo: Repo, scratch: str) -> None:
    assumed, skipped = porcelain.marked(honest(repo, scratch, "ls-files", "-v", "-z"))
    if repo.config.flag("core.sparsecheckout"):
        skipped = []
    for flag, paths in ("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped):
        if paths:
            honest(repo, scratch, "update-index", flag, "-z", "--stdin", stdin=_joined(paths))


def _joined(paths: list[bytes]) -> bytes:
    return b"\0".join(paths) + b"\0"


def _copy(source: str, to: str) -> int | None:
    """Copy a file with its date; return that (ns), None when there is no such file."""
    try:
        with open(source, "rb", buffering=0) as f, open(to, "wb") as g:
            dated = os.fstat(f.fileno()).st_mtime_ns
            while data := f.read(1 << 20):
                g.write(data)
    except FileNotFoundError:
        return None
    os.utime(to, ns=(dated, dated))
    return dated
