"""gitcp-update-session - take an event into the state of its session"""

from __future__ import annotations

import os
import time

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.context import Context
    from gitcp.core.record_types import Record, State


def _events(records: Iterable[Record]) -> Iterator[Record]:
    """Each event record is taken into its session's state and passed on."""
    for record in records:
        if record.get("type") == "event" and record.get("session_id"):
            yield from _event(record)
        else:
            yield record


def _event(event: Record) -> Iterator[Record]:
    from gitcp import context

    handler = _HANDLERS.get(event["event"])
    with context.here() as ctx:
        if event["event"] in _STARTS:
            from gitcp.store.session import catch_up

            catch_up.end_abandoned(ctx, event["session_id"])
        messages = handler(ctx, event) if handler else None
    yield event
    yield from messages or ()


def _turn_start(ctx: Context, event: Record) -> list[Record]:
    from gitcp.store.session import events, greeting, tidings

    repo, began = ctx.repo, time.time_ns()
    state = ctx.state(event["session_id"]) or _new(ctx, event)
    if events.repeated(state, event):
        return []  # personal and shared settings both name us: the same prompt again
    try:
        events.refuse_elsewhere(repo, state)
    except events.SessionIDConflictError as e:
        return _refused(event, str(e))
    warning = greeting.refusal(repo, ctx.objects, state, event, ctx.head)
    if warning:
        ctx.keep(state)  # only that it was told: nothing of the session begins
        return _refused(event, warning)
    moved = events.home(repo, state)
    _begin(ctx, state, event, began)
    ctx.keep(state)
    news = tidings.take(repo, state["session_id"])
    messages = [{"type": "say", "message": news, "to": "agent"}] if news else []
    return [{"type": "say", "message": moved}, *messages] if moved else messages


def _refused(event: Record, message: str) -> list[Record]:
    event["refused"] = True  # nothing of it happens, here or in another stage
    return [{"type": "refuse", "message": message}]


def _new(ctx: Context, event: Record) -> State:
    from gitcp.agents import type_of
    from gitcp.store.session import state as states

    agent_type = type_of(event["agent"])
    return states.new(ctx.repo, event["session_id"], agent_type, ctx.head)


def _begin(ctx: Context, state: State, event: Record, began: int) -> None:
    """The turn begins, or goes on, from one look at the worktree."""
    from gitcp.store.journal import turn_look
    from gitcp.store.session import catch_up, events
    from gitcp.store.snapshot import blobs, index, snapshot
    from gitcp.store.stream import shadow_refs

    repo, objects = ctx.repo, ctx.objects
    index.seed_again(repo)
    if repo.beside_jj:
        from gitcp.store.v1 import committed_write

        committed_write.restore(repo, ctx.objects)
    look = turn_look.Look(repo)
    scan = snapshot.scan(repo)
    look.scanned()
    head = scan.head or shadow_refs.zeros(repo)
    catch_up.leftovers(repo, objects, state, event, head)
    dirty = blobs.resolve(objects, scan, write=False)
    telling = event["session_id"] if event.get("notification") else ""
    look.take(objects, head, dirty, telling=telling)
    turn_look.begin(repo, state, look.at)
    if event.get("notification") and state.get("turn_id"):
        events.go_on(repo, state, event)
    else:
        events.begin_turn(repo, state, event, head, dirty, began, look.at)
        event["dirty"], event["head"] = list(dirty.items()), head


def _tool(ctx: Context, event: Record) -> list[Record]:
    # Each hook of a tool call is waited for: what it does not need is not imported.
    from gitcp.store.journal import calls

    repo = ctx.repo
    state = ctx.state(event["session_id"], rebuild=False)
    if state is None:
        return []  # unknown, or set aside: a tool call waits for no rebuilding
    changed = calls.tool(repo, ctx.objects, state, event)
    changed = _note_task(ctx, state, event) or changed
    if event["event"] == "tool-end" and ctx.head != state["base_commit"]:
        from gitcp.store.session import catch_up

        catch_up.moved(repo, ctx.objects, state, ctx.head)
        changed = True
    if state.get("phase") != "active":
        from gitcp.store.session import events

        events.go_on(repo, state, event)
        changed = True
    if not state.get("tool_events"):
        state["tool_events"] = changed = True
    if changed:
        ctx.keep(state)
    return []


def _note_task(ctx: Context, state: State, event: Record) -> bool:
    if (event.get("tool") or {}).get("kind") != "task":
        return False
    from gitcp.store.session import tasks

    return tasks.note(ctx.repo, state, event)


def _turn_end(ctx: Context, event: Record) -> list[Record]:
    from gitcp.store.session import events

    state = ctx.state(event["session_id"])
    if state:
        events.end_turn(ctx.repo, state, event)
        ctx.keep(state)
    return []


def _session_end(ctx: Context, event: Record) -> list[Record]:
    from gitcp.store.session import catch_up, events

    state = ctx.state(event["session_id"])
    if state:
        catch_up.last_turn(ctx.repo, ctx.objects, state, event, ctx.head)
        events.end(ctx.repo, state, event)
        ctx.keep(state)
    _limit_edits(ctx)
    return []


def _limit_edits(ctx: Context) -> None:
    """Let go of edits of settled sessions where too much is kept (gitcp.max-edits)."""
    from gitcp.store.upkeep import edits

    ctx.leave()  # the locks of sessions are not taken in just any order
    edits.enforce(ctx.repo)


def _session_start(ctx: Context, event: Record) -> list[Record]:
    from gitcp.store.session import catch_up, events, greeting
    from gitcp.store.session import state as states
    from gitcp.store.setup import notices, recording
    from gitcp.store.snapshot import index

    repo, session_id = ctx.repo, event["session_id"]
    index.seed(repo)
    if repo.beside_jj:
        from gitcp.store.v1 import committed_write

        committed_write.restore(repo, ctx.objects)
    known = os.path.exists(states.path(repo, session_id))
    state = ctx.state(session_id) if known else None
    if state:
        catch_up.leftovers(repo, ctx.objects, state, event, ctx.head)
        events.start(repo, state, event)
        ctx.keep(state)
    greeted = greeting.message(repo, ctx.objects, session_id, ctx.head)
    _limit_edits(ctx)
    complaints = notices.at_start(repo)
    if complaints:
        recording.end(repo, noticed=True)
    else:
        recording.begin(repo)
    return [{"type": "say", "message": "\n".join([greeted, *complaints])}]


_STARTS = ("session-start", "turn-start")
_HANDLERS = {
    "session-start": _session_start,
    "turn-start": _turn_start,
    "tool-start": _tool,
    "tool-end": _tool,
    "subagent-start": _tool,
    "subagent-end": _tool,
    "todo": _tool,
    "turn-end": _turn_end,
    "session-end": _session_end,
}


parser, bind, main = stage.plain("update-session", _events)
