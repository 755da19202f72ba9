"""Decide whether a branch is gone because jj undid an operation, or because a person deleted it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_UNDOES = ("undo", "redo", "restore", "revert")
# jj imports a branch's deletion in git.
_DELETES = ("import git refs", "delete bookmark", "forget bookmark")


def was_undone(operations: Iterable[str]) -> bool:
    """Whether jj removed the branch by undoing an operation; operations: jj's last, newest
    first."""
    for operation in operations:
        if operation.startswith(_UNDOES):
            return True
        if operation.startswith(_DELETES):
            return False
    return False
