"""The stages of sessions: update their states, finalize their turns, list them."""

from __future__ import annotations

import os
import sys
import time

from gitcp import agents, context, trace
from gitcp.agents import get_agent_type
from gitcp.console.options import make_flag, make_value
from gitcp.errors import Error, InputError
from gitcp.repo import Repo
from gitcp.stages import map_events
from gitcp.store import refs
from gitcp.store.journal import calls
from gitcp.store.objects import Objects
from gitcp.store.session import states
from gitcp.store.snapshot import worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from gitcp.context import Context
    from gitcp.core.record_types import Record, State

_STARTS = ("session-start", "turn-start")


def read_event(args: Namespace, _: object) -> Iterator[Record]:
    """The event record of a payload, a JSON object on standard input; `unknown` for an event that
    gitcp does not use.

    Raise InputError for an unknown agent and for an invalid field.
    """
    client = agents.get_client(args.agent)
    from gitcp.core import v1_format

    payload = v1_format.parse_json(sys.stdin.buffer.read())
    if payload is None:
        raise InputError("the payload is not a JSON object")
    yield {**client.read_event(args.event, payload)}


def update_session(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Update the session's state by each event record, and pass all on."""
    return map_events(records, _update_state)


def _update_state(event: Record) -> Iterator[Record]:
    handler = _HANDLERS.get(event["event"])
    with context.open_here() as ctx:
        if event["event"] in _STARTS:
            from gitcp.store.relink import catch_up

            catch_up.end_abandoned(ctx, event["session_id"])
        messages = handler(ctx, event) if handler else None
    yield event
    yield from messages or ()


def _handle_turn_start(ctx: Context, event: Record) -> list[Record]:
    repo, began = ctx.repo, time.time_ns()
    state = ctx.read_state(event["session_id"]) or _make_state(ctx, event)
    from gitcp.store.turn import turn

    if turn.is_repeated(state, event):
        return []  # the same prompt again: personal and shared settings both run gitcp
    try:
        turn.refuse_elsewhere(repo, state)
    except turn.SessionIDConflictError as e:
        return _build_refusal(event, str(e))
    from gitcp.store.turn import greeting

    if warning := greeting.find_refusal(repo, state, event, ctx.head):
        ctx.keep(state)  # it has the warning; the session does not begin
        return _build_refusal(event, warning)
    lines = [turn.move_home(repo, state), _begin_turn(ctx, state, event, began)]
    ctx.keep(state)
    to_agent = states.take_message(repo, state["session_id"])
    messages = [{"type": "say", "message": message} for message in lines if message]
    return messages + ([{"type": "say", "message": to_agent, "to": "agent"}] if to_agent else [])


def _build_refusal(event: Record, message: str) -> list[Record]:
    event["refused"] = True  # later stages ignore it
    return [{"type": "refuse", "message": message}]


def _make_state(ctx: Context, event: Record) -> State:
    agent_type = get_agent_type(event["agent"])
    return states.make_state(ctx.repo, event["session_id"], agent_type, ctx.head)


def _begin_turn(ctx: Context, state: State, event: Record, began: int) -> str:
    """Begin the turn, or continue it, from one look at the worktree; return a message or ''."""
    repo = ctx.repo
    worktree.seed_stale(repo)
    message = _put_refs_in_place(ctx)
    look = calls.Look(repo)
    head = look.scan.head or refs.get_zeros(repo)
    from gitcp.store.relink import catch_up

    catch_up.settle_leftovers(repo, state, event, head, look)
    from gitcp.store.snapshot import hashing

    dirty = hashing.resolve_changes(repo.objects, look.scan, write=False)
    telling = event["session_id"] if event.get("notification") else ""
    look.take(head, dirty, telling=telling)
    calls.begin_turn(repo, state, look.at)
    if event.get("notification") and state.get("turn_id"):
        from gitcp.store.turn import turn

        turn.continue_turn(repo, state, event)
    else:
        from gitcp.store.turn import turn

        turn.begin_turn(repo, state, event, head, dirty, began, look.at)
        event["dirty"], event["head"] = list(dirty.items()), head
    return message


def _put_refs_in_place(ctx: Context) -> str:
    """Move streams and checkpoints where they belong, and restore the store after a `jj undo`;
    return a message or ''."""
    from gitcp.store.stream import streams

    streams.move_home(ctx.repo)
    from gitcp.store.v1 import committed_write

    if ctx.repo.jj_root and committed_write.restore_branch(ctx.repo):
        from gitcp.store.v1 import conversion

        return conversion.leave_branch(ctx.repo)
    from gitcp.store.v1 import checkpoints

    return checkpoints.remember_branch(ctx.repo)


def _handle_tool(ctx: Context, event: Record) -> list[Record]:
    # Each tool call waits for its hooks: modules are imported only where they are needed.
    repo = ctx.repo
    state = ctx.read_state(event["session_id"], rebuild=False)
    if state is None:
        return []  # unknown or damaged; rebuilding it would delay the call
    changed = calls.take_call(repo, state, event)
    changed = _note_task(ctx, state, event) or changed
    if event["event"] == "tool-end" and ctx.head != state["base_commit"]:
        from gitcp.store.relink import catch_up

        catch_up.follow_head(repo, state, ctx.head)
        changed = True
    if state.get("phase") != "active":
        from gitcp.store.turn import turn

        turn.continue_turn(repo, state, event)
        changed = True
    if not state.get("tool_events"):
        state["tool_events"] = changed = True
    if changed:
        ctx.keep(state)
    return []


def _note_task(ctx: Context, state: State, event: Record) -> bool:
    if (event.get("tool") or {}).get("kind") != "task":
        return False
    from gitcp.store.turn import tasks

    return tasks.note_start(ctx.repo, state, event)


def _handle_turn_end(ctx: Context, event: Record) -> list[Record]:
    if state := ctx.read_state(event["session_id"]):
        from gitcp.store.turn import turn

        turn.end_turn(ctx.repo, state, event)
        ctx.keep(state)
    return []


def _handle_session_end(ctx: Context, event: Record) -> list[Record]:
    if state := ctx.read_state(event["session_id"]):
        from gitcp.store.relink import catch_up

        catch_up.settle_last_turn(ctx.repo, state, event, ctx.head)
        from gitcp.store.turn import turn

        turn.end_session(ctx.repo, state, event)
        ctx.keep(state)
    _limit_space(ctx)
    return []


def _limit_space(ctx: Context) -> None:
    """Delete edits of settled sessions beyond gitcp.max-edits, and copies of their transcripts."""
    ctx.leave()  # the locks of sessions are taken in their order
    from gitcp.store.care import upkeep

    upkeep.enforce_ceiling(ctx.repo)
    upkeep.limit_copies(ctx.repo)


def _handle_session_start(ctx: Context, event: Record) -> list[Record]:
    repo, session_id = ctx.repo, event["session_id"]
    worktree.seed_index(repo)
    from gitcp import registered

    try:
        registered.add_repository(repo)
    except Error as e:
        trace.append_note("registered", str(e))
    moved = _put_refs_in_place(ctx)
    known = os.path.exists(states.get_state_path(repo, session_id))
    state = ctx.read_state(session_id) if known else None
    if state:
        from gitcp.store.relink import catch_up

        catch_up.settle_leftovers(repo, state, event, ctx.head)
        from gitcp.store.turn import turn

        turn.start_session(repo, state, event)
        ctx.keep(state)
    from gitcp.store.turn import greeting

    greeted = greeting.format_greeting(repo, session_id, ctx.head)
    _limit_space(ctx)
    from gitcp.store.setup import adapters

    if complaints := adapters.list_notices(repo):
        from gitcp.store.lines import recorded

        recorded.end_recording(repo, noticed=True)
    else:
        from gitcp.store.lines import recorded

        recorded.begin_recording(repo)
    return [{"type": "say", "message": "\n".join(filter(None, [greeted, moved, *complaints]))}]


_HANDLERS = {
    "session-start": _handle_session_start,
    "turn-start": _handle_turn_start,
    **dict.fromkeys(("tool-start", "tool-end", "subagent-start", "subagent-end"), _handle_tool),
    "todo": _handle_tool,
    "turn-end": _handle_turn_end,
    "session-end": _handle_session_end,
}


def finalize_turns(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Finalize the committed checkpoints of an event's session, and at its start settle HEAD."""
    for record in records:
        yield record
        if record.get("type") == "event" and record.get("session_id"):
            with context.open_here() as ctx:
                done = _complete_session(ctx, record["session_id"])
                if record["event"] in _STARTS and not record.get("refused"):
                    if len(states.list_recent_ids(ctx.repo)) > states.MOST:
                        ctx.leave()
                        states.put_away(ctx.repo)
                    done += _settle_head(ctx, record["session_id"])
            yield from done


def _settle_head(ctx: Context, session_id: str) -> list[Record]:
    """Settle the commits up to HEAD if gitcp has not seen it yet."""
    from gitcp.store.match import commit_memory

    if not commit_memory.is_unseen(ctx.repo, ctx.head):
        return []
    message = _link_pulled(ctx, session_id)
    return [{"type": "say", "message": message}] if message else []


def _link_pulled(ctx: Context, excluded: str = "") -> str:
    """Settle commits that came to HEAD without gitcp's hooks; return a message about those that
    were pulled, or ''.  excluded: a session that settles by itself."""
    ctx.leave()
    from gitcp.store.relink import relink

    pulled = relink.settle_links(ctx, excluded)
    subject = "a commit that was pulled is" if pulled == 1 else "commits that were pulled are"
    return f"{subject} linked again by a note: {pulled}, 'gitcp log' shows them" if pulled else ""


def look_at_head(repo: Repo) -> None:
    """Settle others' commits up to HEAD for a command that reads, and report pulled ones on
    standard error.  An error does not stop the command."""
    from gitcp.store.match import commit_memory

    if not commit_memory.read_looked(repo):
        return  # no hook has run here
    message = ""
    try:
        with context.open_context(repo) as ctx:
            if not context.is_off(repo) and commit_memory.is_unseen(repo, ctx.head):
                from gitcp.store.link import unhooked

                # A commit made in this worktree waits for its session's event; jj runs no hooks.
                waits = not repo.jj_root and ctx.head in unhooked.list_made_here(repo)
                message = "" if waits else _link_pulled(ctx)
    except (Error, OSError) as e:
        trace.append_note("settle", f"not now: {e}")
    else:
        if message:
            print(f"gitcp: {message}", file=sys.stderr)


def _complete_session(ctx: Context, session_id: str) -> list[Record]:
    state = ctx.read_state(session_id, rebuild=False)
    if not state or not states.lacks_transcript(state):
        return []
    from gitcp.store.link import condense

    done = condense.finalize(ctx.repo, state)
    ctx.keep(state)
    return [{"type": "checkpoint", "checkpoint_id": i, "session_id": session_id} for i in done]


def list_sessions(args: Namespace, _: object) -> list[Record]:
    """Session records, the last started first (gitcp-record(5)); nothing is written."""
    repo = Repo.find_here()
    with Objects(repo):
        from gitcp.store.turn import sessions as turn_sessions

        sessions = turn_sessions.list_sessions(repo, stored=not args.states)
    if args.stored:
        sessions = [r for r in sessions if any(c["checkpoint_id"] for c in r["checkpoints"])]
    if args.worktree:
        sessions = [r for r in sessions if "phase" in r and states.is_home(repo, r)]
    if args.session is not None:
        from gitcp.store.turn import sessions as turn_sessions

        wanted = turn_sessions.pick_id(args.session, [r["session_id"] for r in sessions])
        sessions = [r for r in sessions if r["session_id"] == wanted]
    return sessions


STAGES = {
    "read-event": (
        read_event,
        make_value("agent", "<agent>", "whose payload it is, as in 'gitcp enable -h'"),
        make_value("event", "<event>", "the client's own name of it, such as Stop"),
    ),
    "update-session": (update_session,),
    "finalize": (finalize_turns,),
    "list-sessions": (
        list_sessions,
        make_value("--session", "<id>", "only this one; the beginning is enough"),
        make_flag("--worktree", "only those at home in this worktree"),
        [
            make_flag("--states", "only those that have a state"),
            make_flag("--stored", "only those in the permanent store"),
        ],
    ),
}
