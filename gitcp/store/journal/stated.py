"""Edits that nobody saw: a script tells of them, or what another program recorded.

They count as a session's work like any other, never as what stands in the worktree.
"""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.store.git.tree import Lookup, tree_of
from gitcp.store.journal.journal import Journal, clock
from gitcp.store.journal.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def record(
    repo: Repo,
    objects: Objects,
    session_id: str,
    base: str,
    files: Mapping[str, tuple[Version, str]],
) -> None:
    """Take in that a session made of paths of the commit base what files tell: path -> (what
    stands there, the turn).  What its open edits have is left as it is."""
    before = Lookup(objects, tree_of(objects, base))
    with Journal(repo) as held:
        work, at = Work(held.lines, session_id), clock(repo)
        held.append(
            [
                entries.edit(path, before(path), now, (session_id, turn, ""), entries.STATED, at)
                for path, (now, turn) in sorted(files.items())
                if not any(one.own == now for one in work.stretches(path))
            ]
        )
