"""Whether jj took a branch away by undoing, or a person deleted it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_UNDOES = ("undo", "redo", "restore", "revert")
# A branch that is deleted in git comes to jj by an import.
_DELETES = ("import git refs", "delete bookmark", "forget bookmark")


def was_undone(operations: Iterable[str]) -> bool:
    """Whether jj took the branch away by undoing.  operations: the last ones of jj, the newest
    first."""
    for operation in operations:
        if operation.startswith(_UNDOES):
            return True
        if operation.startswith(_DELETES):
            return False
    return False
