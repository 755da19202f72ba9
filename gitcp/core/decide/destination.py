"""Choose the destination of the permanent store if none is configured."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def choose_remote(earlier: Sequence[str], is_push_set: bool, usual: str) -> str:
    """The remote that becomes the destination; "" for none: then nothing is sent.

    earlier: the remotes to which this clone has sent the store.  is_push_set: whether gitcp.push
    is true, the setting by which older versions sent it.  usual: the remote of `git push`, ""
    for none.
    """
    if len(earlier) == 1:
        return earlier[0]
    return usual if is_push_set and (not earlier or usual in earlier) else ""


def is_url(destination: str) -> bool:
    """Whether a destination that names no remote is the address of a repository."""
    return any(sign in destination for sign in ":/") or destination.startswith((".", "~"))
