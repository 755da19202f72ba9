"""Where the permanent store goes while nobody has named a destination."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def choose(earlier: Sequence[str], asked: bool, usual: str) -> str:
    """The remote that becomes the destination; "" for none, and then nothing is sent.

    earlier: the remotes that this clone has sent the store to.  asked: gitcp.push is set, which
    told an older version to send it.  usual: the remote that `git push` takes, "" for none.
    """
    if len(earlier) == 1:
        return earlier[0]
    return usual if asked and (not earlier or usual in earlier) else ""


def is_url(destination: str) -> bool:
    """Whether a destination that is no remote's name is the address of a repository."""
    return any(sign in destination for sign in ":/") or destination.startswith((".", "~"))
