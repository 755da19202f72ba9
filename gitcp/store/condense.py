"""Condensing: a commit's sessions onto the permanent store, all in one commit on it.

Write order: objects, v1, states.  Killed in between, the next event of a session finds the
checkpoint on v1 and settles its state (unhooked.py).
"""

from __future__ import annotations

import os

from gitcp.core import remaining, tokens
from gitcp.store import blobs, checkpoint, committed, credit, link, opened, shadow, tasks, work
from gitcp.store import state as states
from gitcp.store.recall import recall
from gitcp.store.tree import Lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.match import Staged
    from gitcp.core.tokens import Usage
    from gitcp.repo import Repo
    from gitcp.store.commit import Commit
    from gitcp.store.committed import SessionData
    from gitcp.store.link import Linked
    from gitcp.store.objects import Objects
    from gitcp.store.state import State
    from gitcp.store.transcript import Stored


def commit(
    repo: Repo,
    objects: Objects,
    made: Commit,
    checkpoint_id: str,
    sessions: dict[str, Linked],
    noted: bool = False,
) -> list[str]:
    """Condense every session of a commit under checkpoint_id; return those that were there.

    noted: the commit does not carry the id; metadata names it, the caller writes the note.
    """
    with states.held(repo, list(sessions)):
        found = {sid: state for sid in sessions if (state := recall(repo, objects, sid))}
        together(
            repo, objects, made, checkpoint_id, [(found[s], sessions[s]) for s in found], noted
        )
        for state in found.values():
            opened.save(repo, state)
    return list(found)


def together(
    repo: Repo,
    objects: Objects,
    made: Commit,
    checkpoint_id: str,
    sessions: list[tuple[State, Linked]],
    noted: bool = False,
    extra: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """commit() for a caller that holds the locks of the sessions and saves their states.

    extra: further keys of the sessions' metadata; files: further ones below tasks/.
    """
    parent, changes = link.of_commit(objects, made)
    live = shadow.Live(repo, objects, parent)
    every = {state["session_id"]: state for state, _ in sessions}
    items: list[tuple[str, SessionData]] = []
    storeds = []
    for state, linked in sessions:
        stored = work.said(repo, objects, state)
        storeds.append(stored)
        data = _data(repo, state, linked, changes, stored)
        data["tasks"] = {**_tasks(objects, live, state), **(files or {})}
        data["metadata"] |= extra or {}
        others = {sid: other for sid, other in every.items() if other is not state}
        data["metadata"]["initial_attribution"] = credit.attribution(
            objects, live, state, changes, linked["paths"], others
        )
        if noted:
            data["metadata"]["commit"] = made["oid"]
        items.append((checkpoint_id, data))
    committed.write(repo, objects, items)
    for (state, _), stored in zip(sessions, storeds, strict=True):
        settle(repo, objects, state, made, changes, parent)
        _moved_on(state, checkpoint_id, stored, made["oid"])


def _data(
    repo: Repo, state: State, linked: Linked, changes: dict[str, Staged], stored: Stored | None
) -> SessionData:
    from gitcp.store import usage

    cumulative = usage.of(repo, state, stored)
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
        "prompts": work.spoken(repo, state, stored),
        "metadata": metadata,
        "ephemeral_branch": state.get("shadow_ref", "").removeprefix("refs/heads/"),
    }


def _tasks(objects: Objects, live: shadow.Live, state: State) -> dict[str, bytes]:
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


def settle(
    repo: Repo,
    objects: Objects,
    state: State,
    made: Commit,
    changes: dict[str, Staged],
    parent: str,
) -> None:
    """Take what the commit settles out of a state; the rest is carried forward or away."""
    live = shadow.Live(repo, objects, parent)
    paths = {p for stream in state["streams"] for p in stream["files"]}
    worktree = blobs.at(repo, objects, sorted(paths), write=True)
    look = Lookup(objects, made["tree"])
    head = {path: look(path) for path in paths}
    carried = False
    for stream in state["streams"]:
        marker = opened.marker({**state, "streams": [stream]})
        told = remaining.remaining(
            link.recorded(live, marker, stream["files"]),
            changes,
            worktree,
            head,
        )
        for path, what in told.items():
            if what == remaining.SETTLED:
                del stream["files"][path]
        carried = carried or remaining.CARRY in told.values()
    state["streams"] = [s for s in state["streams"] if s["files"]]
    state["checkpoint_count"] = int(carried)
    checkpoint.clear_verdict(state)


def dismiss(repo: Repo, objects: Objects, made: Commit, session_ids: list[str]) -> None:
    """The person took the line out: nothing is linked, what is fully committed is settled."""
    parent, changes = link.of_commit(objects, made)
    with states.held(repo, session_ids):
        for session_id in session_ids:
            state = recall(repo, objects, session_id)
            if state:
                settle(repo, objects, state, made, changes, parent)
                state["base_commit"] = made["oid"]
                opened.save(repo, state)


def _moved_on(state: State, checkpoint_id: str, stored: Stored | None, head: str) -> None:
    state["base_commit"] = state["attribution_base_commit"] = head
    state["last_checkpoint_id"] = checkpoint_id
    carried = state["checkpoint_count"] > 0  # 002 caveat 5: such a one starts at 0
    state["checkpoint_transcript_start"] = 0 if carried or not stored else stored.items
    if stored and stored.scan and stored.scan["last_identifier"]:
        state["transcript_identifier_at_start"] = stored.scan["last_identifier"]
    if state.get("phase") == "active":
        mine = state.setdefault("turn_checkpoint_ids", [])
        if checkpoint_id not in mine:
            mine.append(checkpoint_id)
    elif stored:
        late = state.setdefault("pending_finalize", {"ids": []})
        late["ids"] = [*late["ids"], checkpoint_id]
        late["size"] = stored.size


def finalize(repo: Repo, objects: Objects, state: State) -> list[str]:
    """Give the turn's checkpoints the complete transcript, in one v1 commit; return their ids.

    What a turn's end finalized stays noted with its size: a transcript that was flushed late
    completes it once more, at the next event.  The caller saves the state.
    """
    late = state.get("pending_finalize") or {"ids": [], "size": -1}
    mine = [*late["ids"], *state.get("turn_checkpoint_ids", ())]
    ids = list(dict.fromkeys(mine))
    if not ids:
        return []
    stored = work.said(repo, objects, state, whole=True)
    fresh = bool(state.pop("turn_checkpoint_ids", None))
    if stored is None or (not fresh and stored.size == late["size"]):
        return []
    data: SessionData = {
        "session_id": state["session_id"],
        "transcript": stored,
        "prompts": work.spoken(repo, state, stored),
        "metadata": {"agent": state.get("agent_type")},
    }
    subject = f"Finalize transcript for Checkpoint: {ids[0]}"
    committed.write(repo, objects, [(one, data) for one in ids], subject=subject)
    state.pop("pending_finalize", None)
    if fresh:
        state["pending_finalize"] = {"ids": ids, "size": stored.size}
    return ids


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
