"""What `git push` sends besides: the store, only to its destination, in bounded time."""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.upkeep import shapes
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.git import hook_warnings, private
from gitcp.store.git.objects import Objects
from gitcp.store.share import sync, withheld
from gitcp.store.v1 import committed_refs, destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gitcp.repo import Repo


# Seconds for a remote that has failed: to search for secrets, and to push.
_BRIEF = (0.3, 1.2)
_DAY = 86400  # seconds
_MOST = 50  # messages that were shown once


def explain_unsent(repo: Repo, name: str) -> str:
    """A message before a push: why nothing is sent, once; "" for none.

    name: the result of destination.find_destination().
    """
    configured = destination.read_destination(repo)
    if name or configured == destination.NONE:
        return ""
    advice = f"'gitcp push --to {destination.find_usual_remote(repo) or '<remote>'}'"
    if configured and say_once(repo, f"missing {configured}"):
        why = f"gitcp.remote names '{configured}', which is no remote"
        return f"gitcp: {why}: no checkpoints are sent; {advice} names another"
    stored = committed_refs.has_checkpoints(repo)
    if not configured and stored and say_once(repo, "no destination"):
        return f"gitcp: checkpoints stay here: {advice} sends them there from now on"
    return ""


def send_store(repo: Repo, name: str, timeout: float, leave: Container[str]) -> None:
    """Send the store to the destination of that name; refs in leave are git's to push.

    timeout: seconds.  A destination that has failed within a day is tried briefly, and without a
    word.  Raises Error for the first failure, and always for what is held back.
    """
    failed = has_failed(repo, name)
    search, limit = (min(timeout, brief) if failed else timeout for brief in _BRIEF)
    try:
        with Objects(repo) as objects:
            *_, held = sync.push_store(
                repo, objects, name, limit, search=search, again=False, leave=leave
            )
    except Error as e:
        note_failure(repo, name)
        trace.append_note("push", str(e))
        if not failed:
            later = "later pushes wait less for it, and say nothing"
            raise Error(f"{e}; {later}: 'gitcp push' tries again") from None
        return
    note_success(repo, name)
    if held:
        raise Error(withheld.explain(held))


def say_once(repo: Repo, what: str) -> bool:
    """Whether something is to be said: only the first time, until forget_words()."""
    path, word = repo.join_shared("push-said"), "%20".join(what.split())
    earlier = private.read_words(path, shapes.is_printable)
    if word not in earlier:
        private.write_words(repo, path, [*earlier[-_MOST:], word])
    return word not in earlier


def forget_words(repo: Repo) -> None:
    """Show all messages again: another destination is configured."""
    private.remove_private(repo, repo.join_shared("push-said"))


def has_failed(repo: Repo, destination: str) -> bool:
    """Whether a push there failed less than a day ago, and none succeeded since."""
    path = _locate_failure(repo, destination)
    return os.path.isfile(path) and not files.is_older(path, _DAY)


def note_failure(repo: Repo, destination: str) -> None:
    """Note that a push failed, unless one of the last day is noted."""
    if not has_failed(repo, destination):
        private.write_private(repo, _locate_failure(repo, destination), b"")


def note_success(repo: Repo, destination: str) -> None:
    """Forget a failure, and the hook's warnings of it."""
    path = _locate_failure(repo, destination)
    if os.path.isfile(path):
        private.remove_private(repo, path)
        hook_warnings.drop_warnings(repo, "pre-push")


def _locate_failure(repo: Repo, destination: str) -> str:
    return repo.join_shared("push-failed", private.escape_remote(destination))
