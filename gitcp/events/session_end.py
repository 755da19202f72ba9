"""The end of a session: what its last turn left is settled, and space is limited."""

from __future__ import annotations

from gitcp import link
from gitcp.events import per_state
from gitcp.events.turns import finalize, release_claim
from gitcp.record import turn
from gitcp.setup.care import space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record import Context
    from gitcp.text.record_types import Event, Passed


@per_state
def update_session(ctx: Context, event: Event) -> list[Passed]:
    """End the session."""
    state = ctx.read_state(event["session_id"])
    if state:
        link.settle_last_turn(ctx.repo, state, event, ctx.head)
        turn.end_session(ctx.repo, state, event)
        ctx.keep(state)
    limit_space(ctx)
    return []


def limit_space(ctx: Context) -> None:
    """Delete edits of settled sessions beyond gitcp.max-edits, and copies of their transcripts."""
    ctx.leave()  # the locks of sessions are taken in their order
    space.enforce_ceiling(ctx.repo)
    space.limit_copies(ctx.repo)


PIPELINES = {"session-end": (release_claim, update_session, finalize)}
