"""Copies of the conversations that clients keep in databases of their own."""

from __future__ import annotations

from gitcp.agents import find_client
from gitcp.errors import Busy
from gitcp.lock import exclusive
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

_PATIENCE = 2.0  # seconds


def copy(repo: Repo, client: Client, event: Record) -> None:
    """Let a client's adapter export the session of an event, one hook at a time: two at once, as
    of parallel subagents, would add the same messages twice."""
    export = client.export
    try:
        with exclusive(repo, f"transcript-{event['session_id']}", _PATIENCE):
            if export:
                export(event, repo.join_shared("exports", client.NAME))
    except Busy:
        pass  # a later event exports it


def renew(repo: Repo, session_id: str) -> None:
    """Update the copy at a commit, for a client without hooks in its turns."""
    state = states.peek(repo, session_id)
    client = find_client(state.get("agent_type") or "") if state else None
    if state and client and client.FORM == "run" and state.get("transcript_path"):
        cwd = state.get("worktree_path") or repo.worktree
        copy(repo, client, {"event": "commit", "session_id": session_id, "cwd": cwd})
