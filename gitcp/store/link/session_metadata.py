"""What a committed checkpoint says of a session: its metadata, its tasks, who made which file."""

from __future__ import annotations

import os

from gitcp.core.transcript import tokens
from gitcp.store.session import state as states
from gitcp.store.session import tasks, turn_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.decide.overlap import Staged
    from gitcp.core.transcript.tokens import Usage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Linked
    from gitcp.store.session.state import State
    from gitcp.store.stream.live import Live
    from gitcp.store.v1.committed_write import SessionData
    from gitcp.store.v1.transcript import Stored


def data(
    repo: Repo, state: State, linked: Linked, changes: dict[str, Staged], stored: Stored | None
) -> SessionData:
    """One session of a commit with these changes; in state, what it has cost until now."""
    from gitcp.store.link import token_usage

    cumulative = token_usage.of(repo, state, stored)
    metadata: dict[str, Any] = {
        "cli_version": state.get("cli_version"),
        "session_id": state["session_id"],
        "strategy": "manual-commit",
        "created_at": states.timestamp(),
        "branch": branch(repo),
        "checkpoints_count": state.get("checkpoint_count", 0),
        "files_touched": sorted(linked["paths"]),
        "agent": state.get("agent_type"),
        "turn_id": state.get("turn_id"),
        "transcript_identifier_at_start": state.get("transcript_identifier_at_start"),
        "checkpoint_transcript_start": state.get("checkpoint_transcript_start", 0),
        "transcript_path": _home_relative(state.get("transcript_path")),
        "files": files(state, linked, changes),
    }
    if cumulative:
        state["token_usage"] = cumulative
        metadata["token_usage"] = cumulative
        before: Usage | None = state.get("tokens_at_condensation")
        metadata["token_usage_delta"] = tokens.subtract(cumulative, before)
        state["tokens_at_condensation"] = cumulative
    return {
        "session_id": state["session_id"],
        "transcript": stored,
        "prompts": turn_work.spoken(repo, state, stored),
        "metadata": metadata,
        "ephemeral_branch": state.get("shadow_ref", "").removeprefix("refs/heads/"),
    }


def task_files(objects: Objects, live: Live, state: State) -> dict[str, bytes]:
    """The task files on the session's live streams: path below tasks/ -> bytes."""
    found = {}
    for stream in state["streams"]:
        tip = live.tip(stream["id"], stream["ref"])
        for path, oid in tasks.stored(objects, tip, state["session_id"]).items():
            found[path] = objects.need(oid, "blob")
    return found


def files(state: State, linked: Linked, changes: dict[str, Staged]) -> dict[str, dict[str, Any]]:
    """For each path of the commit that is the session's: what it is there, and the turn and
    prompt that made it (002 caveat 4)."""
    recorded: dict[str, dict[str, Any]] = {}
    for stream in state["streams"]:
        recorded |= stream["files"]
    turns, found = state.get("turns", {}), {}
    for path in linked["paths"]:
        _, _, mode, oid = changes.get(path, ("", None, "000000", None))
        # Not recorded yet: the turn that runs wrote it.
        turn_id = recorded.get(path, {}).get("turn_id") or state.get("turn_id", "")
        prompt = turns.get(turn_id, {}).get("prompt", "")
        found[path] = {"oid": oid or "", "mode": mode, "turn_id": turn_id, "prompt": prompt}
    return found


def branch(repo: Repo) -> str | None:
    """The name of the branch HEAD is on; None when detached."""
    try:
        with open(os.path.join(repo.git_dir, "HEAD"), encoding="utf-8") as f:
            return f.read().strip().partition("refs/heads/")[2] or None
    except (OSError, UnicodeDecodeError):
        return None


def _home_relative(path: str | None) -> str | None:
    home = os.path.expanduser("~")
    if path and path.startswith(home + os.sep):
        return os.path.relpath(path, home)
    return path
