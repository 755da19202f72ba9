"""The phase of a session (doc/behaviour.md "Phases").

core/decide/phases decides.  Its actions upon the state are done here, the others by the caller.
"""

from __future__ import annotations

from gitcp import trace
from gitcp.core.decide import phases
from gitcp.record import format_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import State


def take_event(state: State, event: str, *, files_touched: bool = True) -> tuple[str, ...]:
    """Change the phase of a state by an event; return all its actions."""
    before = state.get("phase")
    state["phase"], actions = phases.find_transition(before, event, files_touched=files_touched)
    if phases.CLEAR_ENDED_AT in actions:
        state.pop("ended_at", None)
    if phases.UPDATE_LAST_INTERACTION in actions:
        state["last_interaction_time"] = format_now()
    if state["phase"] == phases.ENDED and before != phases.ENDED:
        state["ended_at"] = format_now()
    if phases.WARN_STALE_SESSION in actions:
        trace.append_note("session", f"'{state['session_id']}' starts in the middle of a turn")
    return actions


def take_commit(state: State, paths: object) -> bool:
    """Change the phase by a commit that is linked to the session by these paths; return whether
    to condense the session's work."""
    actions = take_event(state, phases.GIT_COMMIT, files_touched=bool(paths))
    return phases.CONDENSE in actions or phases.CONDENSE_IF_FILES_TOUCHED in actions


def clear_verdict(state: State) -> None:
    """Clear the verdict on the stream: it holds for one prompt."""
    state["should_reset_shadow_branch"] = False
    state.pop("verdict", None)
