"""The conversation behind lines that are not committed yet: what its client has of it."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.git import files
from gitcp.store.journal import journal
from gitcp.store.rewind import conversation
from gitcp.store.session import state as states
from gitcp.store.session import tasks
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def around(
    repo: Repo, objects: Objects, session_id: str, tool_use_id: str
) -> tuple[bytes, dict[str, bytes]]:
    """The transcript of a session, and of the subagent that made this call: by the id of the
    call that started it, '' where that is not known; b'' and {} for what is not there."""
    state = states.peek(repo, session_id)
    if not state:
        return b"", {}
    agent_id = _subagent(repo, session_id, tool_use_id)
    task, stored = _task(objects, state, agent_id) if agent_id else ("", b"")
    theirs = _transcript(state, agent_id) or stored
    return conversation.live(state), {task: theirs} if theirs else {}


def _subagent(repo: Repo, session_id: str, tool_use_id: str) -> str:
    """The subagent of a session that made a call, by the journal; '' for none."""
    call = session_id, tool_use_id
    calls = (one for one in journal.read(repo) if (one.get("session"), one.get("open")) == call)
    return next((str(one["agent"]) for one in calls if one.get("agent")), "")


def _task(objects: Objects, state: State, agent_id: str) -> tuple[str, bytes]:
    """The call that started a subagent, with what the session's streams keep of it; of one that
    is at work still there is nothing."""
    for tip in shadow_refs.read_all(objects, [stream["ref"] for stream in state["streams"]]):
        for path, oid in tasks.stored(objects, tip, state["session_id"]).items():
            if path.endswith(f"/agent-{agent_id}.jsonl"):
                return path.partition("/")[0], objects.need(oid, "blob")
    return tasks.of_agent(state, agent_id) or "", b""


def _transcript(state: State, agent_id: str) -> bytes:
    from gitcp.agents import subagent_transcript

    try:
        about = state.get("agent_type") or "", state.get("transcript_path") or "", agent_id
        path = subagent_transcript(*about) if agent_id else None
        return (files.read(path) if path else None) or b""
    except Error:  # an agent, or an id, that has none
        return b""
