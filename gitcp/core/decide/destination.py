"""Choose the destination of the permanent store if none is configured."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def choose(earlier: Sequence[str], asked: bool, usual: str) -> str:
    """The remote that becomes the destination; "": none, nothing is sent.

    earlier: the remotes to which this clone has sent the store.  asked: gitcp.push is set, by
    which older versions were told to send it.  usual: the remote of `git push`, "" for none.
    """
    if len(earlier) == 1:
        return earlier[0]
    return usual if asked and (not earlier or usual in earlier) else ""


def is_url(destination: str) -> bool:
    """Whether a destination that names no remote is the address of a repository."""
    return any(sign in destination for sign in ":/") or destination.startswith((".", "~"))
