"""The claims of a working copy as records."""

from __future__ import annotations

from gitcp import guard
from gitcp.guard import tool_calls
from gitcp.record import session
from gitcp.record.session import others
from gitcp.record.turn import sessions
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from gitcp.git.repo import Repo
    from gitcp.guard.guard_rules import Claim
    from gitcp.text.record_types import Marker, Process

    class ClaimRecord(TypedDict):
        """A claim on a path, as records tell of it.  path: None for a command, or for a session in
        a turn without a call, whose tool is ''.  created: seconds since 1970."""

        type: str
        session_id: str
        agent_id: str
        tool_use_id: str
        tool: str
        path: str | None
        created: float
        process: Process | None
        worktree_path: str


def list_records(repo: Repo, chosen: Iterable[Marker] | None = None) -> list[ClaimRecord]:
    """A record of type claim for each claimed path and each running command, oldest first.

    A session in a turn without a tool call has a record with an empty tool.  chosen: markers of
    sessions that may be in a turn here, None for all of this worktree.
    """
    held = tool_calls.list_claims(repo)
    records: list[ClaimRecord] = []
    for claim in held:
        records += _make_records(repo, claim)
    busy = {claim["session_id"] for claim in held}
    if chosen is None:
        chosen = session.read_recent(repo)
    for marker in chosen:
        if marker["session_id"] not in busy and guard.is_at_work(repo, marker):
            records.append(_make_idle_record(repo, marker))
    return sorted(records, key=lambda record: float(record["created"]))


def release_session(repo: Repo, prefix: str) -> list[ClaimRecord]:
    """Remove the claims of the session whose id begins with prefix; return their records.
    Raises Error if no session or several match."""
    held = tool_calls.list_claims(repo)
    session_id = sessions.pick_id(prefix, [claim["session_id"] for claim in held])
    tool_calls.release_claims(repo, lambda claim: claim["session_id"] == session_id)
    records: list[ClaimRecord] = []
    for claim in held:
        if claim["session_id"] == session_id:
            records += _make_records(repo, claim)
    return records


def _make_records(repo: Repo, claim: Claim) -> list[ClaimRecord]:
    """A record for each path of a claim; one without a path if it has none."""
    paths: list[str | None] = [*claim["paths"]]
    return [_make_record(repo, claim, path) for path in paths or [None]]


def _make_record(repo: Repo, claim: Claim, path: str | None) -> ClaimRecord:
    return {
        "type": "claim",
        "session_id": claim["session_id"],
        "agent_id": claim["agent_id"],
        "tool_use_id": claim["tool_use_id"],
        "tool": claim["tool"],
        "path": path,
        "created": claim["created"],
        "process": claim["process"],
        "worktree_path": repo.worktree,
    }


def _make_idle_record(repo: Repo, marker: Marker) -> ClaimRecord:
    state = others.peek_state(repo, marker["session_id"]) or {}
    return {
        "type": "claim",
        "session_id": marker["session_id"],
        "agent_id": "",
        "tool_use_id": "",
        "tool": "",
        "path": None,
        "created": parse_time(state.get("last_interaction_time")),
        "process": marker.get("agent_process"),
        "worktree_path": repo.worktree,
    }
