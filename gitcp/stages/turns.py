"""The stages of a turn: its claims, its streams, the states of its sessions."""

from __future__ import annotations

import os
import sys
import time

from gitcp import context, git
from gitcp.agents import get_agent_type
from gitcp.commands import make_value
from gitcp.errors import Error
from gitcp.repo import Repo
from gitcp.stages import map_events
from gitcp.store import claims, refs, session
from gitcp.store.journal import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from gitcp.context import Context
    from gitcp.core.record_types import Record, State, Verdict
    from gitcp.store.guard import Held

    Result = TypeVar("Result")


def check_claim(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Pass events on, but refuse a tool-start that may not run (`deny`), or warn the person
    (`warn`).  Prompts are not refused here; those that were refused before are only passed on."""
    return map_events(records, _check_event)


def _check_event(event: Record) -> Iterator[Record]:
    judged = None if event.get("refused") else _run_guarded(_judge_start, event)
    refused, message = judged or (False, "")
    if refused:
        yield {"type": "refuse", "message": message}
        return
    yield event
    if message:
        yield {"type": "say", "message": message}


def _judge_start(event: Record) -> tuple[bool, str]:
    """(whether to refuse, the message)."""
    repo, name = Repo.find_here(), event["event"]

    from gitcp.store import guard

    mode = guard.get_mode(repo)
    if mode == "off" or name not in ("tool-start", "turn-start"):
        return False, ""
    if name == "tool-start":
        message = guard.start_call(repo, event, context.leave_all)
        return bool(message) and mode == "deny", message
    claims.leave_claim(repo, event)
    return False, guard.greet_session(repo, event)


def release_claim(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
    """Pass each event on, then release the claims that it ends, so that later stages still hold
    them.

    An objection to the call follows: a refusal (`deny`), which the model reads, or a message to the
    person (`warn`).  --session: release the claims of that session, a record for each.
    """
    if args.session:
        from gitcp.store.guard import reports

        records = reports.release_session(Repo.find_here(), args.session)
    yield from map_events(records, _release_event)


def _release_event(event: Record) -> Iterator[Record]:
    held = _run_guarded(_list_held, event) or []
    messages = _run_guarded(_judge_end, event, held) or []
    try:
        yield event
        if not event.get("poisoned"):
            messages += _run_guarded(_record_edits, event) or []
    finally:
        _run_guarded(_let_go, event, held)
    yield from messages


def _run_guarded(work: Callable[..., Result], *args: object) -> Result | None:
    """The result of work; None, with a warning, if it fails, so that the agent's work goes on."""
    try:
        return work(*args)
    except Exception as e:
        from gitcp import console

        console.warn(f"the guard could not check this: {e}")
        return None


def _list_held(event: Record) -> Held:
    """The claims of a call that has ended, each with its working copy."""
    if event["event"] != "tool-end":
        return []

    from gitcp.store import guard

    return guard.list_held(Repo.find_here(), event)


def _judge_end(event: Record, held: Held) -> list[Record]:
    if event["event"] != "tool-end":
        return []
    repo = Repo.find_here()

    from gitcp.store import guard

    mode = guard.get_mode(repo)
    if mode == "off":
        return []
    objection, event["poisoned"] = guard.end_call(event, held)
    return _tell_objection(objection, mode)


def _tell_objection(objection: str, mode: str) -> list[Record]:
    kind = "refuse" if mode == "deny" else "say"
    return [{"type": kind, "message": objection}] if objection else []


def _record_edits(event: Record) -> list[Record]:
    """Record the edits that later stages wrote into the journal on the session's ref, and judge
    them."""
    if event["event"] != "tool-end":
        return []
    repo = Repo.find_here()

    from gitcp.store import guard

    mode = guard.get_mode(repo)
    if mode == "deny":
        ctx = context.open_here()
        if ctx.read_state(event["session_id"], rebuild=False):
            from gitcp.store.guard import reports

            reports.record_call(ctx.repo, event)
    if mode == "off" or (event.get("tool") or {}).get("kind") == "write":
        return []
    return _tell_objection(guard.judge_losses(repo, event), mode)


def _let_go(event: Record, held: Held) -> None:
    if event["event"] == "tool-end":
        from gitcp.store import guard

        guard.let_go(held)
    else:
        claims.leave_claim(Repo.find_here(), event)


def match_stream(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Decide the stream of each turn-start event; the verdict is stored in the session's state and
    passed on."""
    for record in records:
        is_turn = record.get("type") == "event" and "dirty" in record
        matched = list(_decide_stream(record)) if is_turn else []
        yield record
        yield from matched


def _decide_stream(event: Record) -> Iterator[Record]:
    dirty = {path: tuple(e) if e else None for path, e in event["dirty"]}
    with context.open_here() as ctx:
        state = ctx.read_state(event["session_id"], rebuild=False)
        if state is None:
            return

        from gitcp.store import stream

        take_verdict = stream.take_verdict
        verdict = take_verdict(ctx.repo, state, event["head"], dirty)
        stashed = _describe_left(ctx, verdict)
        ctx.keep(state)
    if stashed:
        yield {"type": "say", "message": stashed}
    yield {"type": "match", "session_id": event["session_id"], **verdict}


def _describe_left(ctx: Context, verdict: Verdict) -> str:
    """The message about the stream that the turn leaves, '' for none."""
    if verdict["verdict"] not in ("reset", "new"):
        return ""

    from gitcp.store import stream

    tip = stream.peek_tip(ctx.repo.objects, verdict["ref"])
    if tip is None:
        return ""  # other stages report what cannot be read
    # In suffix mode a branch that is left stays where it is.
    ref = stream.archive_stream(ctx.repo, tip)[0] if verdict["verdict"] == "reset" else tip["ref"]

    from gitcp.store.stream import stream_list

    return stream_list.build_notice(ctx.repo, tip, ref)


def write_checkpoint(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Write a checkpoint of the session's new work for each event, and one for each checkpoint
    record without an oid, by its fields."""
    for record in records:
        if record.get("type") == "checkpoint" and "oid" not in record:
            yield _write_stated(record)
            continue
        # It is written before the next stages get the event, since they end the turn.
        is_event = record.get("type") == "event" and record.get("session_id")
        written = list(_write(record)) if is_event else []
        yield record
        yield from written


def _write_stated(record: Record) -> Record:
    with context.open_here() as ctx:
        from gitcp.store.stream import stream_list

        return stream_list.write_stated(ctx, record)


def _write(event: Record) -> Iterator[Record]:
    with context.open_here() as ctx:
        state, oid = ctx.read_state(event["session_id"]), None
        if state is None:
            return
        if event["event"] != "compact":
            from gitcp.store import turn

            turn.keep_verdict(state)
        if event["event"] == "turn-end":
            yield from _describe_unread(ctx.repo, state)
        known = set(state.get("over_limit", ()))
        if event["event"] in ("turn-end", "subagent-end") and _makes_commits(ctx.repo):
            from gitcp.store import auto

            yield from auto.save_work(ctx, event)
            state = ctx.read_state(event["session_id"], rebuild=False) or state
            yield from _describe_over_limit(state, known)
            return

        from gitcp.store import relink

        oid = relink.write_checkpoint(ctx.repo, state, event, ctx.head)
        ctx.keep(state)
    yield from _describe_over_limit(state, known)
    if oid:
        ref, session_id = state["shadow_ref"], state["session_id"]
        yield {"type": "checkpoint", "oid": oid, "ref": ref, "session_id": session_id}


def _describe_unread(repo: Repo, state: State) -> Iterator[Record]:
    """The message about a transcript that cannot be read."""

    from gitcp.store.v1 import stored_transcripts

    if why := stored_transcripts.explain_unreadable(repo, state.get("transcript_path")):
        from gitcp import console

        console.mute(why)
        yield {"type": "say", "message": f"gitcp: {why}"}


def _describe_over_limit(state: State, reported: set[str]) -> Iterator[Record]:
    """The message about files that are too large, without those reported before."""
    if new := {p: why for p, why in state.get("over_limit", {}).items() if p not in reported}:
        from gitcp.core import stream_rules

        yield {"type": "say", "message": stream_rules.format_omission(new)}


def _makes_commits(repo: Repo) -> bool:
    """Whether the strategy makes a real commit of a turn."""
    if repo.config.get_option("gitcp.strategy") == "manual-commit":
        return False

    from gitcp.store.setup import guard_files

    return guard_files.get_strategy(repo) == guard_files.AUTO


# The stages of sessions: update their states, finalize their turns, list them.
_STARTS = ("session-start", "turn-start")


def update_session(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Update the session's state by each event record, and pass all on."""
    return map_events(records, _update_state)


def _update_state(event: Record) -> Iterator[Record]:
    handler = _HANDLERS.get(event["event"])
    with context.open_here() as ctx:
        if event["event"] in _STARTS:
            from gitcp.store import relink

            relink.end_abandoned(ctx, event["session_id"])
        messages = handler(ctx, event) if handler else None
    yield event
    yield from messages or ()


def _handle_turn_start(ctx: Context, event: Record) -> list[Record]:
    repo, began = ctx.repo, time.time_ns()
    state = ctx.read_state(event["session_id"]) or _make_state(ctx, event)

    from gitcp.store import turn

    if turn.is_repeated(state, event):
        return []  # the same prompt again: personal and shared settings both run gitcp
    try:
        turn.refuse_elsewhere(repo, state)
    except turn.SessionIDConflictError as e:
        return _build_refusal(event, str(e))

    if warning := turn.find_refusal(repo, state, event, ctx.head):
        ctx.keep(state)  # it has the warning; the session does not begin
        return _build_refusal(event, warning)
    lines = [turn.move_home(repo, state), _begin_turn(ctx, state, event, began)]
    ctx.keep(state)
    to_agent = session.take_message(repo, state["session_id"])
    if repo.config.get_flag("gitcp.tell-abandoned"):
        from gitcp.store import abandoned

        told = abandoned.format_hint(repo, str(event.get("prompt") or ""))
        to_agent = "\n".join(filter(None, [to_agent, told]))
    messages = [{"type": "say", "message": message} for message in lines if message]
    return messages + ([{"type": "say", "message": to_agent, "to": "agent"}] if to_agent else [])


def _build_refusal(event: Record, message: str) -> list[Record]:
    event["refused"] = True  # later stages ignore it
    return [{"type": "refuse", "message": message}]


def _make_state(ctx: Context, event: Record) -> State:
    agent_type = get_agent_type(event["agent"])
    state = session.make_state(ctx.repo, event["session_id"], agent_type, ctx.head)
    if event.get("guest"):
        state["guest"] = True
    return state


def _begin_turn(ctx: Context, state: State, event: Record, began: int) -> str:
    """Begin the turn, or continue it, from one look at the worktree; return a message or ''."""
    repo = ctx.repo
    from gitcp.store.snapshot import scan

    scan.seed_stale(repo)
    message = _put_refs_in_place(ctx)
    if state.get("guest"):
        from gitcp.store import visits

        visits.note_visit(event["session_id"], repo)
    look = calls.Look(repo)
    head = look.scan.head or refs.get_zeros(repo)

    from gitcp.store import relink

    relink.settle_leftovers(repo, state, event, head, look)

    dirty = scan.resolve_changes(repo.objects, look.scan, write=False)
    telling = event["session_id"] if event.get("notification") else ""
    look.take(head, dirty, telling=telling)
    calls.begin_turn(repo, state, look.at)
    from gitcp.store import turn

    if event.get("notification") and state.get("turn_id"):
        turn.continue_turn(repo, state, event)
    else:
        turn.begin_turn(repo, state, event, head, dirty, began, look.at)
        event["dirty"], event["head"] = list(dirty.items()), head
    return message


def _put_refs_in_place(ctx: Context) -> str:
    """Move streams and checkpoints where they belong, and restore the store after a `jj undo`;
    return a message or ''."""

    from gitcp.store import stream

    stream.move_home(ctx.repo)

    if ctx.repo.jj_root:
        from gitcp.store.v1 import committed_write

        if committed_write.restore_branch(ctx.repo):
            from gitcp.store.v1 import conversion

            return conversion.leave_branch(ctx.repo)

    from gitcp.store import relink

    return relink.remember_branch(ctx.repo)


def _handle_tool(ctx: Context, event: Record) -> list[Record]:
    # Each tool call waits for its hooks: modules are imported only where they are needed.
    repo = ctx.repo
    state = ctx.read_state(event["session_id"], rebuild=False)
    if state is None:
        return []  # unknown or damaged; rebuilding it would delay the call
    changed = calls.take_call(repo, state, event)
    changed = _note_task(ctx, state, event) or changed
    if event.get("guest") and event["event"] == "tool-end":
        from gitcp.store import visits

        changed = visits.take_prompt(repo, state, event) or changed
    if event["event"] == "tool-end" and ctx.head != state["base_commit"]:
        from gitcp.store import relink

        relink.follow_head(repo, state, ctx.head)
        changed = True
    if state.get("phase") != "active":
        from gitcp.store import turn

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

    from gitcp.store import tasks

    return tasks.note_start(ctx.repo, state, event)


def _handle_turn_end(ctx: Context, event: Record) -> list[Record]:
    if state := ctx.read_state(event["session_id"]):
        from gitcp.store import turn

        turn.end_turn(ctx.repo, state, event)
        if event.get("guest"):
            from gitcp.store import visits

            visits.take_prompt(ctx.repo, state, event)
        ctx.keep(state)
    return []


def _handle_session_end(ctx: Context, event: Record) -> list[Record]:
    if state := ctx.read_state(event["session_id"]):
        from gitcp.store import relink

        relink.settle_last_turn(ctx.repo, state, event, ctx.head)

        from gitcp.store import turn

        turn.end_session(ctx.repo, state, event)
        ctx.keep(state)
    _limit_space(ctx)
    return []


def _limit_space(ctx: Context) -> None:
    """Delete edits of settled sessions beyond gitcp.max-edits, and copies of their transcripts."""
    ctx.leave()  # the locks of sessions are taken in their order

    from gitcp.store.care import space

    space.enforce_ceiling(ctx.repo)
    space.limit_copies(ctx.repo)


def _handle_session_start(ctx: Context, event: Record) -> list[Record]:
    from gitcp import registered
    from gitcp.store import turn
    from gitcp.store.lines import recorded
    from gitcp.store.setup import adapters
    from gitcp.store.snapshot import own_index

    repo, session_id = ctx.repo, event["session_id"]
    own_index.seed_index(repo)
    try:
        registered.add_repository(repo)
    except Error as e:
        git.append_note("registered", str(e))
    moved = _put_refs_in_place(ctx)
    known = os.path.exists(session.get_state_path(repo, session_id))
    state = ctx.read_state(session_id) if known else None
    if state:
        from gitcp.store import relink

        relink.settle_leftovers(repo, state, event, ctx.head)
        turn.start_session(repo, state, event)
        ctx.keep(state)
    greeted = turn.format_greeting(repo, session_id, ctx.head)
    _limit_space(ctx)
    if complaints := adapters.list_notices(repo):
        recorded.end_recording(repo, noticed=True)
    else:
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
                    if len(session.list_recent_ids(ctx.repo)) > session.MOST:
                        ctx.leave()

                        from gitcp.store.session import others

                        others.put_away(ctx.repo)
                    done += _settle_head(ctx, record["session_id"])
            yield from done


def _settle_head(ctx: Context, session_id: str) -> list[Record]:
    """Settle the commits up to HEAD if gitcp has not seen it yet."""

    from gitcp.store import match

    if not match.is_unseen(ctx.repo, ctx.head):
        return []
    message = _link_pulled(ctx, session_id)
    return [{"type": "say", "message": message}] if message else []


def _link_pulled(ctx: Context, excluded: str = "") -> str:
    """Settle commits that came to HEAD without gitcp's hooks; return a message about those that
    were pulled, or ''.  excluded: a session that settles by itself."""
    ctx.leave()

    from gitcp.store.relink import relink as relink_relink

    pulled = relink_relink.settle_links(ctx, excluded)
    subject = "a commit that was pulled is" if pulled == 1 else "commits that were pulled are"
    return f"{subject} linked again by a note: {pulled}, 'gitcp log' shows them" if pulled else ""


def look_at_head(repo: Repo) -> None:
    """Settle others' commits up to HEAD for a command that reads, and report pulled ones on
    standard error.  An error does not stop the command."""

    from gitcp.store import match

    if not match.read_looked(repo):
        return  # no hook has run here
    message = ""
    try:
        with context.open_context(repo) as ctx:
            if not context.is_off(repo) and match.is_unseen(repo, ctx.head):
                from gitcp.store.link import unhooked

                # A commit made in this worktree waits for its session's event; jj runs no hooks.
                waits = not repo.jj_root and ctx.head in unhooked.list_made_here(repo)
                message = "" if waits else _link_pulled(ctx)
    except (Error, OSError) as e:
        git.append_note("settle", f"not now: {e}")
    else:
        if message:
            print(f"gitcp: {message}", file=sys.stderr)


def _complete_session(ctx: Context, session_id: str) -> list[Record]:
    state = ctx.read_state(session_id, rebuild=False)
    if not state or not session.lacks_transcript(state):
        return []

    from gitcp.store.link import condense

    done = condense.finalize(ctx.repo, state)
    ctx.keep(state)
    return [{"type": "checkpoint", "checkpoint_id": i, "session_id": session_id} for i in done]


STAGES = {
    "update-session": (update_session,),
    "match-stream": (match_stream,),
    "write-checkpoint": (write_checkpoint,),
    "finalize": (finalize_turns,),
    "check-claim": (check_claim,),
    "release-claim": (
        release_claim,
        make_value(
            "--session", "<id>", "release what this session holds here; the beginning is enough"
        ),
    ),
}
