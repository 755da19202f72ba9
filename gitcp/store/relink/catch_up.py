"""What the last event left over, put in order before the next one counts
(doc/behaviour.md "Events").

In this order: HEAD that moved without us, so that the stream is where the turn goes on; an
interrupted turn; transcripts that were provisional or flushed late.
"""

from __future__ import annotations

from gitcp import trace
from gitcp.core.decide import phases
from gitcp.errors import Busy, Error, Moved
from gitcp.lock import exclusive
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.session import markers, phase
from gitcp.store.session import state as states
from gitcp.store.snapshot import blobs
from gitcp.store.stream import branches, place, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.context import Context
    from gitcp.core.record_types import State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


_TRIES = 5


def read_head(repo: Repo) -> str:
    """The oid of HEAD; zeros when unborn."""
    return refs.read_head(repo) or shadow_refs.get_zeros(repo)


def settle_leftovers(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], now: str
) -> None:
    """Settle what the session's last event left over; now is HEAD."""
    interrupted = state.get("phase") == phases.ACTIVE and event["event"] == "turn-start"
    if interrupted and not event.get("notification"):
        trace.append_note("settle", f"the turn of '{state['session_id']}' was interrupted")
        write_checkpoint(repo, objects, state, event, now)
    follow_head(repo, objects, state, now)
    if interrupted or (state.get("pending_finalize") and states.lacks_transcript(state)):
        late.finalize.finalize(repo, objects, state)


def settle_last_turn(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], now: str
) -> None:
    """Settle what a session leaves that ends: an interrupted turn gets its checkpoint, so that who
    commits finds the work.  Killed in here, the session stays active."""
    if state.get("phase") == phases.ACTIVE:
        write_checkpoint(repo, objects, state, event, now)
    else:
        follow_head(repo, objects, state, now)


def end_abandoned(ctx: Context, session_id: str) -> None:
    """End the other sessions of this worktree that are in a turn although their agent is gone."""
    for name in markers.list_abandoned(ctx.repo, session_id):
        try:
            end_session(ctx, name)
        except (Error, OSError) as e:  # of its data: nothing of who looks
            trace.append_note("settle", f"'{name}': {e}")
        ctx.leave()  # the locks of sessions are not taken in just any order


def end_session(ctx: Context, session_id: str) -> None:
    """End a session that is in a turn, and that nobody else will end."""
    state = ctx.read_state(session_id)
    if state and state.get("phase") == phases.ACTIVE:
        trace.append_note("settle", f"the agent of '{session_id}' is gone")
        event = {"event": "session-end", "session_id": session_id}
        settle_last_turn(ctx.repo, ctx.objects, state, event, ctx.head)
        late.finalize.finalize(ctx.repo, ctx.objects, state)
        phase.take_event(state, phases.SESSION_END)
        ctx.keep(state)


def write_checkpoint(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], now: str
) -> str | None:
    """The checkpoint of a turn, on the streams where HEAD is; its oid, None without a change.

    now: HEAD, as it was when somebody asked.  A commit made since, or while the worktree is
    scanned, moves the streams: then both are done again.
    """
    for _ in range(_TRIES):
        follow_head(repo, objects, state, now)
        try:
            return late.turn_work.write_turn(repo, objects, state, event)
        except Moved as e:
            trace.append_note("settle", f"again: {e}")
            now = read_head(repo)
    raise Busy(f"'{state['session_id']}': HEAD moves faster than the worktree is read")


def follow_head(repo: Repo, objects: Objects, state: State, now: str) -> None:
    """HEAD is not where the session last saw it: link what was committed without our hooks,
    then let the session's streams follow, or stay (doc/behaviour.md "When HEAD moves")."""
    old = state.get("base_commit") or ""
    if old == now:
        return
    late.unhooked.link_all(repo, objects, state, old, now)
    with exclusive(repo, f"stream-{repo.worktree_hash}"):
        for tip in _list_own(repo, objects, state, old):
            _follow_base(repo, objects, state, tip, now)
    state["base_commit"] = now


def _list_own(repo: Repo, objects: Objects, state: State, old: str) -> list[Tip]:
    ids = {s["id"] for s in state["streams"]}
    tips = []
    for ref in branches.list_refs(repo, old):
        try:
            tip = shadow_refs.read_tip(objects, ref)
        except Error:
            continue
        if tip and tip["stream"] in ids:
            tips.append(tip)
    return tips


def _follow_base(repo: Repo, objects: Objects, state: State, tip: Tip, now: str) -> None:
    """Rename a stream to the new base while some of its files are still changes here."""
    own = [s["files"] for s in state["streams"] if s["id"] == tip["stream"]]
    named = branches.map_named_paths(repo, tip["stream"], shadow_refs.list_sessions(objects, tip))
    files = set[str]().union(*named.values(), *own)
    if not blobs.list_dirty(repo, objects, files, now):
        trace.append_note("stream", f"'{tip['ref']}' stays: none of its files is changed here")
        return
    edits = place.rename_stream(repo, objects, tip, now)
    refs.update_refs(repo, edits, "gitcp: base moved")
    for stream in state["streams"]:
        if stream["id"] == tip["stream"]:
            stream["ref"], stream["base_commit"] = edits[0][0], now
    trace.append_note("stream", f"'{tip['ref']}' -> '{edits[0][0]}': base moved")
