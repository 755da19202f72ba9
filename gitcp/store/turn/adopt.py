"""Adoption: a session of another worktree or clone continues in this worktree."""

from __future__ import annotations

from gitcp.core.decide import phases
from gitcp.errors import Error
from gitcp.store.git import refs
from gitcp.store.journal import elsewhere, turn_look, visits
from gitcp.store.session import phase, turn_log
from gitcp.store.session import state as states
from gitcp.store.snapshot import blobs
from gitcp.store.turn import events, session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context
    from gitcp.core.record_types import Record, State

# The fields of a state that move with the session to another clone.
_MOVING = (
    *("agent_type", "agent_process", "tool_events", "phase", "started_at"),
    *("first_prompt", "turn_id", "prompt_id", "turns", "tasks"),
    *("transcript_path", "transcript_identifier_at_start", "checkpoint_transcript_start"),
    *("token_usage", "tokens_at_condensation", "tokens_before"),
)


def adopt_session(ctx: Context, other_ctx: Context, prefix: str) -> Record:
    """Make this worktree the home of a session, by its id or a prefix of it; a record of type
    "adoption".

    other_ctx: the repository that has the session, this one or another clone.  Raises Error if it
    has no such session.
    """
    try:
        session_id = session_read.pick_id(prefix, states.list_ids(other_ctx.repo))
    except Error as e:
        advice = f"'gitcp adopt {prefix} <directory>' names another clone"
        raise Error(f"{e}; {advice}") from None
    if other_ctx.repo.common != ctx.repo.common:
        return _adopt_from(ctx, other_ctx, session_id)
    state = ctx.read_state(session_id)
    if state is None:
        raise Error(f"the state of session '{session_id}' cannot be read")
    old_path = state.get("worktree_path", "")
    if events.move_home(ctx.repo, state):
        _begin_here(ctx, state)
    visits.forget_visits(ctx.repo, state)
    ctx.keep(state)
    remaining = [
        {"worktree": other.worktree if other else "", "files": files}
        for visit in state.get("visits", ())
        if (files := sorted(elsewhere.read_work(ctx.repo, visit, session_id).list_paths()))
        for other in [elsewhere.find_worktree(ctx.repo, visit)]
    ]
    return _build_record(state, old_path, remaining)


def _adopt_from(ctx: Context, other_ctx: Context, session_id: str) -> Record:
    """Take a session over from another clone, where it ends and its uncommitted work stays."""
    clone = other_ctx.repo
    clone_state = session_read.read_state(clone, session_id)
    if clone_state.get("unreadable"):
        raise Error(
            f"the state of session '{session_id}' cannot be read: {clone_state['unreadable']}"
        )
    old_path, home = clone_state["worktree_path"], clone_state.get("worktree_id", "")
    files = {path for stream in clone_state["streams"] for path in stream["files"]}
    files |= set(elsewhere.read_work(clone, home, session_id).list_paths())
    state = _unite_states(ctx, clone_state)
    _begin_here(ctx, state)
    ctx.keep(state)
    ctx.leave()  # one repository's locks at a time
    with other_ctx:
        old = other_ctx.read_state(session_id)
        if old:
            phase.take_event(old, phases.SESSION_END)
            other_ctx.keep(old)
    return _build_record(
        state, old_path, [{"worktree": old_path, "files": sorted(files)}] if files else []
    )


def _unite_states(ctx: Context, state: State) -> State:
    """The state of a session from another clone, with its turns before those that it had here."""
    existing = ctx.read_state(state["session_id"])
    moving: State = {key: state[key] for key in _MOVING if key in state}  # type: ignore
    if not existing:
        new = states.make_state(ctx.repo, state["session_id"], state["agent_type"], ctx.head)
        return {**new, **moving}
    turns = state.get("turns", {})
    last = max((turn.get("number", 0) for turn in turns.values()), default=0)
    later = {
        turn_id: {**turn, "number": last + number}
        for number, (turn_id, turn) in enumerate(existing.get("turns", {}).items(), 1)
        if turn_id not in turns
    }
    older: State = {key: moving[key] for key in ("first_prompt", "started_at") if key in moving}  # type: ignore
    return {**moving, **existing, **older, "turns": {**turns, **later}}


def _begin_here(ctx: Context, state: State) -> None:
    """Begin the turn, or its continuation, with this worktree as it is now."""
    repo, look = ctx.repo, turn_look.Look(ctx.repo)
    head = look.scan.head or refs.get_zeros(repo)
    dirty = blobs.resolve_changes(ctx.objects, look.scan, write=False)
    look.take(ctx.objects, head, dirty)
    phase.clear_verdict(state)
    state["base_commit"] = head
    turn_log.begin(repo, state, head, dirty, look.began, look.at)


def _build_record(state: State, old_path: str, remaining: list[Record]) -> Record:
    return {
        "type": "adoption",
        "session_id": state["session_id"],
        "phase": state["phase"],
        "from": old_path,
        "worktree": state["worktree_path"],
        "left": remaining,
    }
