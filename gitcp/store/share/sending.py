"""What a `git push` sends of ours: the store, to its destination alone, in bounded time."""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git.objects import Objects
from gitcp.store.share import attempts, sync
from gitcp.store.share.push_check import Withheld
from gitcp.store.v1 import committed_refs, destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gitcp.repo import Repo

# Seconds for a remote that has failed: for the search for secrets, and to send.  With the end of
# git, and ours, it is less than 2.
_BRIEF = (0.3, 1.2)


def announce(repo: Repo, name: str) -> str:
    """What the person is to hear of the destination before a push, "" for nothing: where an older
    version's becomes the configured one, and, once, why nothing is sent.

    name: what destination.effective() says.
    """
    configured = destination.read(repo)
    advice = f"'gitcp push --to {destination.usual(repo) or '<remote>'}'"
    if name and not configured:
        destination.write(repo, name)
        none = "'git config gitcp.remote none' keeps them here"
        return f"gitcp: checkpoints go to '{name}' as before, and to no other remote; {none}"
    if name or configured == destination.NONE:
        return ""
    if configured and attempts.say_once(repo, f"missing {configured}"):
        why = f"gitcp.remote names '{configured}', which is no remote"
        return f"gitcp: {why}: no checkpoints are sent; {advice} names another"
    stored = committed_refs.stored_here(repo)
    if not configured and stored and attempts.say_once(repo, "unnamed"):
        return f"gitcp: checkpoints stay here: {advice} sends them there from now on"
    return ""


def send(repo: Repo, name: str, timeout: float, leave: Container[str]) -> None:
    """Send the store to the destination of that name; refs in leave are git's to push.

    timeout: seconds.  A destination that has failed within a day is tried briefly, and without a
    word.  Raises Error for the first failure, and for secrets always.
    """
    failed = attempts.has_failed(repo, name)
    search, limit = (min(timeout, brief) if failed else timeout for brief in _BRIEF)
    try:
        with Objects(repo) as objects:
            sync.push(repo, objects, name, limit, search=search, again=False, leave=leave)
    except Withheld:
        raise
    except Error as e:
        attempts.note_failure(repo, name)
        trace.note("push", str(e))
        if not failed:
            later = "later pushes wait less for it, and say nothing"
            raise Error(f"{e}; {later}: 'gitcp push' tries again") from None
    else:
        attempts.note_success(repo, name)
