"""What happens within a turn: tool calls, subagents, steps of a plan, compaction.

Each tool call waits for its hooks: modules are imported only where they are needed.
"""

from __future__ import annotations

from gitcp.events import per_state
from gitcp.events.turns import check_claim, release_claim, write_checkpoint
from gitcp.record import get_call
from gitcp.record.looks import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record import Context
    from gitcp.text.record_types import Event, Passed, State


@per_state
def update_session(ctx: Context, event: Event) -> list[Passed]:
    """Take a call into the journal; continue the turn of a session that was not in one."""
    repo = ctx.repo
    state = ctx.read_state(event["session_id"], rebuild=False)
    if state is None:
        return []  # unknown or damaged; rebuilding it would delay the call
    head = None
    if event["event"] == "tool-end":
        head = ctx.head
    changed = calls.take_call(repo, state, event, head)
    for oid, paths in event.pop("unfounded", {}).items():
        from gitcp.lines import carried

        carried.take_back_lines(repo, state["session_id"], oid, paths)
    changed = _note_task(ctx, state, event) or changed
    if event.get("guest") and event["event"] == "tool-end":
        from gitcp.record.turn import visits

        changed = visits.take_prompt(repo, state, event) or changed
    if head is not None and head != state["base_commit"]:
        from gitcp import link

        link.follow_head(repo, state, head)
        changed = True
    if state.get("phase") != "active":
        from gitcp.record import turn

        turn.continue_turn(repo, state, event)
        changed = True
    if not state.get("tool_events"):
        state["tool_events"] = changed = True
    if changed:
        ctx.keep(state)
    return []


def _note_task(ctx: Context, state: State, event: Event) -> bool:
    if get_call(event).get("kind") != "task":
        return False

    from gitcp.record.stream import tasks

    return tasks.note_start(ctx.repo, state, event)


PIPELINES = {
    "tool-start": (check_claim, update_session),
    "tool-end": (release_claim, update_session),
    "subagent-start": (update_session,),
    "subagent-end": (release_claim, write_checkpoint, update_session),
    "todo": (write_checkpoint, update_session),
    "compact": (write_checkpoint,),
}
