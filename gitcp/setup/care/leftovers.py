"""What killed processes left behind: scratch files, and the directories of commands."""

from __future__ import annotations

import os

from gitcp.git import files
from gitcp.git.files import locate_scratch
from gitcp.setup.care import mend_objects, unfinished
from gitcp.setup.care.findings import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Case


def look_at_scratch(case: Case) -> Iterator[Finding]:
    """Report scratch files that a killed process left behind."""
    for path, reason in _list_scratch_files(case.repo):
        yield Finding("leftover", path, reason)


def list_leftovers(repo: Repo) -> Iterator[tuple[str, str]]:
    """(path, why) of the scratch files and directories that no process is writing."""
    yield from _list_scratch_files(repo)
    if repo.top:
        yield from unfinished.list_scratch(repo)


def _list_scratch_files(repo: Repo) -> Iterator[tuple[str, str]]:
    folder = locate_scratch(repo)
    for name in files.list_names(folder):
        path = os.path.join(folder, name)
        if files.is_older(path, mend_objects.SCRATCH_AGE):
            yield path, "nothing has touched it for an hour"


def look_at_scratch_worktrees(case: Case) -> Iterator[Finding]:
    """Report the temporary worktrees that killed commands left."""
    if case.repo.top:
        for path, reason in unfinished.list_scratch(case.repo):
            what = f"{reason}, and its scratch directory '{path}' is left"
            yield Finding("killed-command", path, what, remedy="remove it")


def remove_leftover(repo: Repo, path: str) -> str:
    """Remove a path of list_leftovers() if it is still one; return what was done, '' for
    nothing."""
    if unfinished.remove_scratch(repo, path):
        return "removed the directory"
    return mend_objects.remove_leftover(repo, path, mend_objects.SCRATCH_AGE)
