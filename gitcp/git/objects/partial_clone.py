"""What a partial clone has left with its remote."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.git.objects.cat_file import find_promisor
from gitcp.text.ids import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry


def need_contents(repo: Repo, entries: Iterable[tuple[str, Entry]]) -> None:
    """Raise Error, which names the command that brings it, if a partial clone has left the content
    of a file with its remote: a git that checks it out would fetch it, unasked.

    entries: (path, entry)."""
    if not find_promisor(repo):
        return
    paths = {oid: path for path, (mode, oid) in entries if mode != COMMIT}
    absent = repo.objects.list_absent(paths)
    if absent:
        path = min(paths[oid] for oid in absent)
        more = ""
        if len(absent) > 1:
            more = f" and of {len(absent) - 1} more"
        raise Error(
            f"the content of '{path}'{more} was left with the remote of this partial clone:"
            " 'git fetch --refetch --no-filter' brings it"
        )
