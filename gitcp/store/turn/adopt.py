"""A session that moved goes on in this worktree, whichever worktree or clone it was at work in."""

from __future__ import annotations

import time

from gitcp.core.decide import phases
from gitcp.errors import Error
from gitcp.store.journal import elsewhere, turn_look, visits
from gitcp.store.session import phase, turn_log
from gitcp.store.session import state as states
from gitcp.store.snapshot import blobs, snapshot
from gitcp.store.stream import shadow_refs
from gitcp.store.turn import events, session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context
    from gitcp.core.record_types import Record, State

# What of a state is the session's, wherever it is at work.
_MOVING = (
    *("agent_type", "agent_process", "tool_events", "phase", "started_at"),
    *("first_prompt", "turn_id", "prompt_id", "turns", "tasks"),
    *("transcript_path", "transcript_identifier_at_start", "checkpoint_transcript_start"),
    *("token_usage", "tokens_at_condensation", "tokens_before"),
)


def adopt_session(ctx: Context, there: Context, name: str) -> Record:
    """Let a session, by its id or the beginning of it, have its home here from now on; the record
    of it, of type "adoption".  there: the repository that knows the session, this one or another
    clone.  Raises Error where it is not known there."""
    try:
        session_id = session_read.pick_id(name, states.list_ids(there.repo))
    except Error as e:
        way = f"'gitcp adopt {name} <directory>' names another clone"
        raise Error(f"{e}; {way}") from None
    if there.repo.common != ctx.repo.common:
        return _adopt_from(ctx, there, session_id)
    state = ctx.read_state(session_id)
    if state is None:
        raise Error(f"the state of session '{session_id}' cannot be read")
    before = state.get("worktree_path", "")
    if events.move_home(ctx.repo, state):
        _begin_here(ctx, state)
    visits.forget_visits(ctx.repo, state)
    ctx.keep(state)
    left = [
        {"worktree": other.worktree if other else "", "files": files}
        for name in state.get("visits", ())
        if (files := sorted(elsewhere.read_work(ctx.repo, name, session_id).list_paths()))
        for other in [elsewhere.find_worktree(ctx.repo, name)]
    ]
    return _build_record(state, before, left)


def _adopt_from(ctx: Context, there: Context, session_id: str) -> Record:
    """Take a session over from another clone, where it ends: there stays what is not committed."""
    clone = there.repo
    given = session_read.read_state(clone, session_id)
    if given.get("unreadable"):
        raise Error(f"the state of session '{session_id}' cannot be read: {given['unreadable']}")
    before, home = given["worktree_path"], given.get("worktree_id", "")
    files = {path for stream in given["streams"] for path in stream["files"]}
    files |= set(elsewhere.read_work(clone, home, session_id).list_paths())
    state = _unite_states(ctx, given)
    _begin_here(ctx, state)
    ctx.keep(state)
    ctx.leave()  # one repository's locks at a time
    with there:
        old = there.read_state(session_id)
        if old:
            phase.take_event(old, phases.SESSION_END)
            there.keep(old)
    return _build_record(
        state, before, [{"worktree": before, "files": sorted(files)}] if files else []
    )


def _unite_states(ctx: Context, state: State) -> State:
    """The state of a session from another clone as this one has it: its turns come before those
    that it had here already."""
    begun = ctx.read_state(state["session_id"])
    moving: State = {key: state[key] for key in _MOVING if key in state}  # type: ignore
    if not begun:
        fresh = states.make_state(ctx.repo, state["session_id"], state["agent_type"], ctx.head)
        return {**fresh, **moving}
    known = state.get("turns", {})
    later = {
        turn: {**about, "number": len(known) + about["number"]}
        for turn, about in begun.get("turns", {}).items()
        if turn not in known
    }
    older: State = {key: moving[key] for key in ("first_prompt", "started_at") if key in moving}  # type: ignore
    return {**moving, **begun, **older, "turns": {**known, **later}}


def _begin_here(ctx: Context, state: State) -> None:
    """Let the rest of a turn, or the next one, begin with this worktree as it is now."""
    repo, began = ctx.repo, time.time_ns()
    look = turn_look.Look(repo)
    scan = snapshot.scan_worktree(repo)
    look.end_scan()
    head = scan.head or shadow_refs.get_zeros(repo)
    dirty = blobs.resolve_changes(ctx.objects, scan, write=False)
    look.take(ctx.objects, head, dirty)
    phase.clear_verdict(state)
    state["base_commit"] = head
    turn_log.begin(repo, state, head, dirty, began, look.at)


def _build_record(state: State, before: str, left: list[Record]) -> Record:
    return {
        "type": "adoption",
        "session_id": state["session_id"],
        "phase": state["phase"],
        "from": before,
        "worktree": state["worktree_path"],
        "left": left,
    }
