"""Removing files that a killed process left behind, once they are old."""

from __future__ import annotations

import os
import shutil

from gitcp.process import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

LOCK_AGE = 60  # seconds; no transaction of git takes so long
SCRATCH_AGE = 3600


def remove_leftover(repo: Repo, path: str, seconds: int) -> str:
    """Remove a file or directory that is still old; return what was done, '' for nothing.

    A file that another process put there meanwhile is put back.
    """
    if not files.is_older(path, seconds):
        return ""
    if os.path.isdir(path):
        shutil.rmtree(path)
        return "removed the directory"
    before = os.lstat(path)
    aside = repo.join_shared("tmp", f"aside-{os.getpid()}-{before.st_ino}")
    repo.make_folder(os.path.dirname(aside))
    os.rename(path, aside)
    after = os.lstat(aside)
    if (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns):
        os.link(aside, path)
        os.unlink(aside)
        return ""
    os.unlink(aside)
    return f"removed it, {before.st_size} bytes"
