"""A prompt: the turn begins, on the stream that its work belongs to."""

from __future__ import annotations

import time

from gitcp import link
from gitcp.agents import get_agent_type
from gitcp.events import build_messages, per_event, per_state
from gitcp.events.turns import check_claim, finalize
from gitcp.git import refs
from gitcp.record import looks, session, stream, turn
from gitcp.record.snapshot import scan
from gitcp.record.stream.verdict import take_verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record import Context
    from gitcp.text.record_types import (
        Entries,
        Event,
        Message,
        Passed,
        State,
        StreamMatch,
        Verdict,
    )


@per_state
def update_session(ctx: Context, event: Event) -> list[Passed]:
    """Begin a turn of the session, or say why not; return messages."""
    link.end_abandoned(ctx, event["session_id"])
    repo = ctx.repo
    began = time.time_ns()
    state = ctx.read_state(event["session_id"]) or _make_state(ctx, event)
    if turn.is_repeated(state, event):
        return []  # the same prompt again: personal and shared settings both run gitcp
    try:
        turn.refuse_elsewhere(repo, state)
    except turn.SessionIDConflictError as e:
        return _build_refusal(event, str(e))

    warning = turn.find_refusal(repo, state, event, ctx.head)
    if warning:
        ctx.keep(state)  # it has the warning; the session does not begin
        return _build_refusal(event, warning)
    lines = [turn.move_home(repo, state), _begin_turn(ctx, state, event, began)]
    ctx.keep(state)
    to_agent = session.take_message(repo, state["session_id"])
    if repo.config.get_flag("gitcp.tell-abandoned"):
        from gitcp.steps import abandoned

        told = abandoned.format_hint(repo, str(event.get("prompt") or ""))
        to_agent = "\n".join(filter(None, [to_agent, told]))
    found: list[Passed] = [*build_messages(*lines)]
    for message in build_messages(to_agent):
        message["to"] = "agent"
        found.append(message)
    return found


def _build_refusal(event: Event, message: str) -> list[Passed]:
    event["refused"] = True  # later stages ignore it
    refusal: Message = {"type": "refuse", "message": message}
    return [refusal]


def _make_state(ctx: Context, event: Event) -> State:
    agent_type = get_agent_type(event["agent"])
    state = session.make_state(ctx.repo, event["session_id"], agent_type, ctx.head)
    if event.get("guest"):
        state["guest"] = True
    return state


def _begin_turn(ctx: Context, state: State, event: Event, began: int) -> str:
    """Begin the turn, or continue it, from one look at the worktree; return a message or ''."""
    repo = ctx.repo
    scan.seed_stale(repo)
    message = put_refs_in_place(ctx)
    if state.get("guest"):
        from gitcp.record.turn import visits

        visits.note_visit(event["session_id"], repo)
    look = looks.look_at_worktree(repo)
    head = look.scan.head or refs.get_zeros(repo)
    link.settle_leftovers(repo, state, event, head, look)
    dirty = scan.resolve_changes(repo.objects, look.scan, write=False)
    telling = ""
    if event.get("notification"):
        telling = event["session_id"]
    look.begin_turn(head, dirty, state, telling)
    if state.get("visits"):
        from gitcp.record.journal import worktrees

        worktrees.begin_turn(repo, state)
    if event.get("notification") and state.get("turn_id"):
        turn.continue_turn(repo, state, event)
    else:
        turn.begin_turn(repo, state, event, head, dirty, began, look.at)
        event["dirty"] = list(dirty.items())
        event["head"] = head
    return message


def put_refs_in_place(ctx: Context) -> str:
    """Move streams and checkpoints where they belong, and restore the store after a `jj undo`;
    return a message or ''."""
    stream.move_home(ctx.repo)
    if ctx.repo.jj_root:
        from gitcp.checkpoints import writing

        if writing.restore_branch(ctx.repo):
            from gitcp.checkpoints import conversion

            return conversion.leave_branch(ctx.repo)
    return link.remember_branch(ctx.repo)


@per_event
def match_stream(ctx: Context, event: Event) -> list[Passed]:
    """Decide the stream of a turn that begins; the verdict is stored in the session's state and
    passed on."""
    if "dirty" not in event:
        return [event]
    dirty: Entries = {}
    for path, entry in event["dirty"]:
        dirty[path] = None
        if entry:
            mode, oid = entry  # a list where the record was piped
            dirty[path] = mode, oid
    state = ctx.read_state(event["session_id"], rebuild=False)
    if state is None:
        return [event]
    verdict = take_verdict(ctx.repo, state, event["head"], dirty)
    messages = build_messages(_describe_left(ctx, verdict))
    ctx.keep(state)
    match: StreamMatch = {"type": "match", "session_id": event["session_id"], **verdict}
    return [event, *messages, match]


def _describe_left(ctx: Context, verdict: Verdict) -> str:
    """The message about the stream that the turn leaves, '' for none."""
    if verdict["verdict"] not in ("reset", "new"):
        return ""
    tip = stream.peek_tip(ctx.repo.objects, verdict["ref"])
    if tip is None:
        return ""  # other stages report what cannot be read
    # In suffix mode a branch that is left stays where it is.
    if verdict["verdict"] == "reset":
        ref = stream.archive_stream(ctx.repo, tip)[0]
    else:
        ref = tip["ref"]

    from gitcp.record.stream import notice

    return notice.build_notice(ctx.repo, tip, ref)


PIPELINES = {"turn-start": (update_session, check_claim, match_stream, finalize)}
