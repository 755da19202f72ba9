"""Finalizing: the checkpoints of a turn get its complete transcript
(doc/behaviour.md "Finalizing")."""

from __future__ import annotations

from gitcp.start import late
from gitcp.store.turn import tasks
from gitcp.store.v1 import redaction, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_write import SessionData


def finalize(repo: Repo, objects: Objects, state: State) -> list[str]:
    """Give the turn's checkpoints the complete transcript, in one commit; return their ids.

    The state keeps their ids and the transcript's size: if the client has written more by the next
    event, they are finalized again.  The last checkpoint gets the turn's tokens and ended tasks
    since its last commit.  The caller saves the state.
    """
    pending = state.get("pending_finalize") or {"ids": [], "size": -1}
    ids = list(dict.fromkeys([*pending["ids"], *state.get("turn_checkpoint_ids", ())]))
    if not ids or not redaction.can_read_rules(repo):
        return []
    stored = transcript.store_session(repo, objects, state, complete=True)
    task_files = tasks.list_all_ended_files(repo, objects, state)
    fresh = bool(state.pop("turn_checkpoint_ids", None))
    size = stored.size if stored else pending["size"]
    if not task_files and (stored is None or (not fresh and size == pending["size"])):
        return []
    data: SessionData = {
        "session_id": state["session_id"],
        "transcript": stored,
        "prompts": transcript.list_prompts(state, stored),
        "metadata": {"agent": state.get("agent_type")},
    }
    subject = f"Finalize transcript for Checkpoint: {ids[0]}"
    items = [(checkpoint_id, data) for checkpoint_id in ids[:-1]]
    spent = late.session_metadata.note_spent(state, stored)
    if done := tasks.list_tasks(task_files):
        spent["tasks"] = done
    metadata = {**data["metadata"], **spent}
    items.append((ids[-1], {**data, "metadata": metadata, "tasks": task_files}))
    late.committed_write.write_sessions(repo, objects, items, subject=subject)
    tasks.forget_tasks(repo, state, done)
    state.pop("pending_finalize", None)
    live = stored.live if stored else []
    if fresh:
        state["pending_finalize"] = {"ids": ids, "size": size, "live": live}
    return ids
