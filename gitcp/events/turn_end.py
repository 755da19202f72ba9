"""The end of a turn: a checkpoint of its work, and the transcripts of its commits."""

from __future__ import annotations

from gitcp.events import per_state
from gitcp.events.turns import finalize, release_claim, write_checkpoint
from gitcp.record import turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record import Context
    from gitcp.text.record_types import Event, Passed


@per_state
def update_session(ctx: Context, event: Event) -> list[Passed]:
    """End the session's turn."""
    state = ctx.read_state(event["session_id"])
    if state:
        turn.end_turn(ctx.repo, state, event)
        if event.get("guest"):
            from gitcp.record.turn import visits

            visits.take_prompt(ctx.repo, state, event)
        ctx.keep(state)
    return []


PIPELINES = {"turn-end": (release_claim, write_checkpoint, update_session, finalize)}
