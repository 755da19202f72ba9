"""The records that a name stands for."""

from __future__ import annotations

from gitcp.store.session import state as states
from gitcp.store.show import checkpoint_view, lookup, session_turns
from gitcp.store.turn import session_list, session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def records(repo: Repo, objects: Objects, name: str) -> list[Record]:
    """The checkpoints of a commit, or a checkpoint, or a session with its turns; transcripts are
    bytes.  Raises Error as lookup.resolve() does, and for a commit without a checkpoint."""
    kind, key = lookup.resolve(repo, objects, name)
    if kind == "commit":
        return checkpoint_view.of_commit(repo, objects, key)
    if kind == "checkpoint":
        return checkpoint_view.committed(repo, objects, [key])
    if kind == "temporary":
        return [checkpoint_view.temporary(repo, objects, key)]
    known = [session_read.read(repo, key)] if key in states.list_ids(repo) else []
    sessions = session_list.with_states(known, session_list.temporary(repo, objects))
    sessions = session_list.with_stored(repo, sessions, only=key)
    return [session_turns.with_turns(repo, objects, session) for session in sessions]
