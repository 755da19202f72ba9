"""The start of a session: it is greeted, and what was left before it is settled."""

from __future__ import annotations

import os

from gitcp import git, link
from gitcp.errors import Error
from gitcp.events import build_messages, per_state
from gitcp.events.session_end import limit_space
from gitcp.events.turn_start import put_refs_in_place
from gitcp.events.turns import finalize, notice_unrecorded
from gitcp.lines.committed import recorded
from gitcp.record import registered, session, turn
from gitcp.record.snapshot import own_index
from gitcp.record.turn import company
from gitcp.setup import notices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record import Context
    from gitcp.text.record_types import Event, Passed


@per_state
def update_session(ctx: Context, event: Event) -> list[Passed]:
    """Continue the session's state if it has one, and greet it."""
    link.end_abandoned(ctx, event["session_id"])
    repo = ctx.repo
    session_id = event["session_id"]
    own_index.seed_index(repo)
    try:
        registered.add_repository(repo)
    except Error as e:
        git.append_trace("registered", str(e))
    moved = put_refs_in_place(ctx)
    known = os.path.exists(session.get_state_path(repo, session_id))
    state = ctx.read_state(session_id) if known else None
    if state:
        link.settle_leftovers(repo, state, event, ctx.head)
        turn.start_session(repo, state, event)
        ctx.keep(state)
    greeted = company.format_greeting(repo, session_id, ctx.head)
    limit_space(ctx)
    complaints = notices.list_notices(repo)
    if complaints:
        recorded.end_recording(repo, noticed=True)
    else:
        recorded.begin_recording(repo)
    silent = notice_unrecorded(repo)
    return [*build_messages("\n".join(filter(None, [greeted, moved, *complaints, silent])))]


PIPELINES = {"session-start": (update_session, finalize)}
