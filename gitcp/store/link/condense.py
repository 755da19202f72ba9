"""Condensing: a commit's sessions onto the permanent store, all in one commit on it.

Write order: objects, v1, states.  Killed in between, the next event of a session finds the
checkpoint on v1 and settles its state (unhooked_commits.py).
"""

from __future__ import annotations

from gitcp.core.decide import remaining
from gitcp.store.blame import ai_notes
from gitcp.store.git.tree import Lookup
from gitcp.store.link import commit_changes, commit_match, line_credit, session_metadata
from gitcp.store.session import markers, turn_work
from gitcp.store.snapshot import blobs
from gitcp.store.stream import checkpoint
from gitcp.store.stream.live import Live
from gitcp.store.v1 import committed_read, committed_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.decide.overlap import Staged
    from gitcp.core.record_types import Commit, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Linked
    from gitcp.store.v1.committed_write import SessionData
    from gitcp.store.v1.transcript import Stored


def together(
    repo: Repo,
    objects: Objects,
    commit: Commit,
    checkpoint_id: str,
    sessions: list[tuple[State, Linked]],
    noted: bool = False,
    extra: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Condense sessions with their part in a commit under checkpoint_id, in one commit on v1.

    The caller holds the locks of the sessions and saves their states.  noted: the commit does
    not carry the id; metadata names it, the caller has written the note.  extra: further keys
    of the sessions' metadata; files: further ones below tasks/.
    """
    parent, changes = commit_changes.of_commit(objects, commit)
    live = Live(repo, objects, parent)
    credit = line_credit.Credit(repo, objects, commit, changes, [state for state, _ in sessions])
    items: list[tuple[str, SessionData]] = []
    storeds = []
    for state, linked in sessions:
        stored = turn_work.stored_transcript(repo, objects, state, check=True)
        storeds.append(stored)
        data = session_metadata.data(repo, state, linked, changes, stored, credit)
        done = session_metadata.task_files(objects, live, state, changes, credit)
        data["tasks"] = {**done, **(files or {})}
        data["metadata"] |= extra or {}
        if data["tasks"]:
            data["metadata"]["tasks"] = sorted({path.split("/")[0] for path in data["tasks"]})
        if noted:
            data["metadata"]["commit"] = commit["oid"]
        items.append((checkpoint_id, data))
    shares = _other_shares(repo, objects, checkpoint_id, credit, items)
    committed_write.write(repo, objects, items + shares)
    line_credit.settle(repo, objects, commit)
    for (state, _), stored in zip(sessions, storeds, strict=True):
        settle(repo, objects, state, commit, changes, parent)
        _moved_on(state, checkpoint_id, stored, commit["oid"])
    ai_notes.keep(repo, [commit["oid"]])


def _other_shares(
    repo: Repo,
    objects: Objects,
    checkpoint_id: str,
    credit: line_credit.Credit,
    items: list[tuple[str, SessionData]],
) -> list[tuple[str, SessionData]]:
    """The checkpoint's other sessions, where it is extended: their shares are others now."""
    stored = committed_read.session_ids(repo, objects, checkpoint_id)
    session_ids = set(filter(None, stored)) - {data["session_id"] for _, data in items}
    return [
        (
            checkpoint_id,
            {
                "session_id": session_id,
                "metadata": {"initial_attribution": credit.attribution(session_id)},
                "lines": credit.ranges(session_id),
            },
        )
        for session_id in sorted(session_ids)
    ]


def settle(
    repo: Repo,
    objects: Objects,
    state: State,
    commit: Commit,
    changes: dict[str, Staged],
    parent: str,
) -> None:
    """Take what the commit settles out of a state; the rest is carried forward or away."""
    live = Live(repo, objects, parent)
    paths = {p for stream in state["streams"] for p in stream["files"]}
    worktree = blobs.at(repo, objects, sorted(paths), write=True)
    look = Lookup(objects, commit["tree"])
    head = {path: look(path) for path in paths}
    carried = False
    for stream in state["streams"]:
        marker = markers.marker({**state, "streams": [stream]})
        verdicts = remaining.remaining(
            commit_match.recorded(live, marker, stream["files"]),
            changes,
            worktree,
            head,
        )
        for path, what in verdicts.items():
            if what == remaining.SETTLED:
                del stream["files"][path]
        carried = carried or remaining.CARRY in verdicts.values()
    state["streams"] = [s for s in state["streams"] if s["files"]]
    state["checkpoint_count"] = int(carried)
    checkpoint.clear_verdict(state)


def take_over(repo: Repo, objects: Objects, state: State, checkpoint_id: str, head: str) -> None:
    """Move a state on to a checkpoint that v1 has of it: killed before it was saved."""
    from gitcp.store.v1 import committed_read

    if state.get("last_checkpoint_id") == checkpoint_id:
        return
    entries = committed_read.read(repo, objects, checkpoint_id)["sessions"]
    metadata = next(e["metadata"] for e in entries if e["session_id"] == state["session_id"])
    if isinstance(metadata.get("token_usage"), dict):
        state["token_usage"] = state["tokens_at_condensation"] = metadata["token_usage"]
    _moved_on(state, checkpoint_id, None, head)
    if state.get("phase") != "active":
        late = state.setdefault("pending_finalize", {"ids": [], "size": -1})
        late["ids"] = [*late["ids"], checkpoint_id]


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
