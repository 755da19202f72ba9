"""Condensing: write a commit's sessions to the permanent store, in one commit on it.

The order is objects, store, states.  After a kill in between, the next event of a session finds the
checkpoint in the store and settles its state (unhooked.py).  A session whose data is damaged is
left out and waits for its own next event.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.v1.summary import list_strings
from gitcp.errors import Error
from gitcp.start import late
from gitcp.store.git import commit_changes
from gitcp.store.journal import journal, open_edits
from gitcp.store.journal.work import Work, read_streams
from gitcp.store.lines import ai_notes, commit_lines
from gitcp.store.link import session_metadata
from gitcp.store.session import markers, phase
from gitcp.store.turn import tasks
from gitcp.store.v1 import committed_read, committed_write, transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_write import SessionData
    from gitcp.store.v1.transcript import StoredTranscript


def condense_sessions(
    repo: Repo,
    objects: Objects,
    commit: Commit,
    checkpoint_id: str,
    sessions: list[tuple[State, Linked]],
    noted: bool = False,
    extra: Mapping[str, Any] | None = None,
    replaced: Sequence[str] = (),
) -> dict[str, Exception]:
    """Condense sessions with their part in a commit under checkpoint_id.

    Return the sessions that an error left out; raise the error if it left out all.  The caller
    holds the locks, and saves the states of the others.  noted: whether a note carries the id.
    extra: further keys of the metadata.  replaced: as for Credit."""
    parent, changes = commit_changes.read_changes(objects, commit)
    failed = dict[str, Exception]()
    states = [state for state, _ in sessions]
    _bring_edits(repo, states, changes)
    credit = commit_lines.Credit(repo, objects, commit, changes, states, replaced)
    items: list[tuple[str, SessionData]] = []
    storeds: list[tuple[State, StoredTranscript | None]] = []
    for state, linked in sessions:
        with Apart(state["session_id"], failed):
            stored = transcript.store_session(repo, objects, state, check=True)
            data = session_metadata.describe_session(repo, state, linked, changes, stored, credit)
            files = session_metadata.read_task_files(repo, objects, parent, state, changes, credit)
            _add(data, files, extra or {}, commit["oid"] if noted else "")
            items, storeds = [*items, (checkpoint_id, data)], [*storeds, (state, stored)]
    raise_if_none(failed, items)
    items += _build_other_shares(repo, objects, checkpoint_id, credit, items)
    committed_write.write_sessions(repo, objects, items)
    open_edits.settle_commit(repo, objects, commit, changes, {s["session_id"] for s, _ in storeds})
    for (state, stored), (_, data) in zip(storeds, items, strict=False):
        with Apart(state["session_id"], failed):
            settle_state(repo, state)
            _move_state_on(repo, state, data["metadata"], checkpoint_id, stored, commit["oid"])
    raise_if_none(failed, [state for state, _ in storeds if state["session_id"] not in failed])
    _keep_notes(repo, objects, commit)
    return failed


def _bring_edits(repo: Repo, states: Sequence[State], paths: Collection[str]) -> None:
    """Move the sessions' edits of these paths here from other worktrees."""
    for state in states:
        if state.get("visits") or not markers.is_home(repo, state):
            late.elsewhere.bring_edits(repo, state, paths)


def _keep_notes(repo: Repo, objects: Objects, commit: Commit) -> None:
    ai_notes.keep(repo, [commit["oid"]])
    if os.path.exists(repo.join_shared("recording-unshared")):
        try:
            late.recording.share_recording(repo, objects)
        except Error as e:  # the next commit shares it
            trace.append_note("condense", f"recording: {e!r}")


def _add(
    data: SessionData, task_files: dict[str, bytes], extra: Mapping[str, Any], noted: str
) -> None:
    data["tasks"] = task_files
    data["metadata"] |= extra
    if task_files:
        data["metadata"]["tasks"] = tasks.list_tasks(task_files)
    if noted:
        data["metadata"]["commit"] = noted


class Apart:
    """A `with` around the work for one session of several: an error is put into failed, and the
    others go on."""

    __slots__ = ("_failed", "_session_id")

    def __init__(self, session_id: str, failed: dict[str, Exception]) -> None:
        self._session_id, self._failed = session_id, failed

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        if not isinstance(error, Exception):
            return False
        trace.append_note("condense", f"'{self._session_id}': {error!r}")
        self._failed[self._session_id] = error
        return True


def raise_if_none(failed: Mapping[str, Exception], done: object) -> None:
    """Raise the first error if nothing was done."""
    if failed and not done:
        raise next(iter(failed.values()))


def _build_other_shares(
    repo: Repo,
    objects: Objects,
    checkpoint_id: str,
    credit: commit_lines.Credit,
    items: list[tuple[str, SessionData]],
) -> list[tuple[str, SessionData]]:
    """The sessions that an extended checkpoint had already: their shares have changed."""
    stored = committed_read.list_session_ids(repo, objects, checkpoint_id)
    session_ids = set(filter(None, stored)) - {data["session_id"] for _, data in items}
    return [
        (
            checkpoint_id,
            {
                "session_id": session_id,
                "metadata": {"initial_attribution": credit.compute_attribution(session_id)},
                "lines": credit.build_ranges(session_id),
            },
        )
        for session_id in sorted(session_ids)
    ]


def settle_state(repo: Repo, state: State) -> None:
    """Remove from a state what its session has no open edit of any more."""
    if state.get("visits"):
        late.visits.forget_visits(repo, state)
    if not markers.is_home(repo, state):
        return
    work = Work(journal.read(repo), state["session_id"])
    read_streams(repo, state)
    state["checkpoint_count"] = int(
        any(work.is_present(p) for s in state["streams"] for p in s["files"])
    )
    phase.clear_verdict(state)


def take_over(repo: Repo, objects: Objects, state: State, checkpoint_id: str, head: str) -> None:
    """Move a state on to a stored checkpoint: a kill came before the state was saved."""
    if state.get("last_checkpoint_id") == checkpoint_id:
        return
    entries = committed_read.read_checkpoint(repo, objects, checkpoint_id)["sessions"]
    metadata = next(e["metadata"] for e in entries if e["session_id"] == state["session_id"])
    if isinstance(metadata.get("token_usage"), dict):
        state["token_usage"] = state["tokens_at_condensation"] = metadata["token_usage"]
    _move_state_on(repo, state, metadata, checkpoint_id, None, head)
    if state.get("phase") != "active":
        pending = state.setdefault("pending_finalize", {"ids": [], "size": -1})
        pending["ids"] = [*pending["ids"], checkpoint_id]


def _move_state_on(
    repo: Repo,
    state: State,
    metadata: Mapping[str, Any],
    checkpoint_id: str,
    stored: StoredTranscript | None,
    head: str,
) -> None:
    """Move a state on to a stored checkpoint, which has this metadata of the session."""
    tasks.forget_tasks(repo, state, list_strings(metadata.get("tasks")))
    if markers.is_home(repo, state):
        state["base_commit"] = state["attribution_base_commit"] = head
    state["last_checkpoint_id"] = checkpoint_id
    # The transcript of work that stays open starts at 0.
    is_open = state["checkpoint_count"] > 0
    state["checkpoint_transcript_start"] = 0 if is_open or not stored else stored.items
    if stored and stored.scan and stored.scan["last_identifier"]:
        state["transcript_identifier_at_start"] = stored.scan["last_identifier"]
    if state.get("phase") == "active":
        ids = state.setdefault("turn_checkpoint_ids", [])
        if checkpoint_id not in ids:
            ids.append(checkpoint_id)
    elif stored or state.get("transcript_path"):  # an unreadable transcript may be readable later
        pending = state.setdefault("pending_finalize", {"ids": []})
        pending["ids"] = [*pending["ids"], checkpoint_id]
        pending |= {"size": stored.size, "live": stored.live} if stored else {"size": -1}
