"""Filters of the person's that did not end in time: for an hour git runs without any, so that one
hook waits for them and not each."""

from __future__ import annotations

import os
import time

from gitcp.console import notice
from gitcp.process import deadline
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_HOUR = 3600
_KINDS = (".clean", ".process")


def hang(repo: Repo) -> bool:
    """Whether git is to run without filters."""
    try:
        return abs(time.time() - os.lstat(_mark(repo)).st_mtime) < _HOUR
    except OSError:
        return False


def patience(repo: Repo) -> float | None:
    """How many seconds to wait for a git that may run filters: half of what is left to a hook, so
    that the other half is left where they hang; None without a limit."""
    left = deadline.left()
    return left / 2 if left is not None and off(repo) else left


def off(repo: Repo) -> list[str]:
    """The options of git that switch off every filter; [] where none is configured."""
    return unfiltered(repo, *_KINDS)


def unfiltered(repo: Repo, *kinds: str) -> list[str]:
    """The options of git that switch off every filter that is required, or has one of kinds."""
    keys = (key for kind in kinds or (".required",) for key in repo.config.keys("filter.", kind))
    names = {key.rpartition(".")[0] for key in keys}
    values = ("clean=", "process=", "required=false")
    return [word for name in sorted(names) for v in values for word in ("-c", f"{name}.{v}")]


def note(repo: Repo) -> bool:
    """Git did not end in time: let it run without filters from now on, and say so; False where
    there are none, or they were left out already."""
    if hang(repo) or not off(repo):
        return False
    private.touch(repo, _mark(repo))
    from gitcp.store.git import hook_warnings

    message = "a filter of git did not end in time: for an hour checkpoints leave out its files"
    hook_warnings.warn(repo, message)
    notice.warn(message)
    return True


def _mark(repo: Repo) -> str:
    return repo.own("filters-hang")
