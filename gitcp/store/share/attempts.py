"""What a `git push` remembers for the next one: what it has said, and that a remote failed it."""

from __future__ import annotations

import os

from gitcp.core.upkeep import shapes
from gitcp.process import files
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_DAY = 86400  # seconds
_MOST = 50  # things that were said


def say_once(repo: Repo, what: str) -> bool:
    """Whether something is to be said: only the first time, until forget_words()."""
    path, word = repo.shared("push-said"), "%20".join(what.split())
    earlier = private.words(path, shapes.printable)
    if word not in earlier:
        private.write_words(repo, path, [*earlier[-_MOST:], word])
    return word not in earlier


def forget_words(repo: Repo) -> None:
    """Let all be said again: another destination is configured."""
    private.remove(repo, repo.shared("push-said"))


def has_failed(repo: Repo, destination: str) -> bool:
    """Whether the last attempt to send there failed, less than a day ago."""
    path = _failure(repo, destination)
    return os.path.isfile(path) and not files.older(path, _DAY)


def note_failure(repo: Repo, destination: str) -> None:
    """Remember that an attempt failed, from now on; of one in the last day the first counts."""
    if not has_failed(repo, destination):
        private.write(repo, _failure(repo, destination), b"")


def note_success(repo: Repo, destination: str) -> None:
    """Forget a failure."""
    private.remove(repo, _failure(repo, destination))


def _failure(repo: Repo, destination: str) -> str:
    return repo.shared("push-failed", private.file_name(destination))
