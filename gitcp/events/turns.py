"""The stages that the events of a turn share: its claims, its checkpoints, its transcripts."""

from __future__ import annotations

from gitcp.events import build_messages, is_of_agent, per_event, per_record
from gitcp.git.files import list_names
from gitcp.record import get_call, leave_all, locate_claims, session
from gitcp.text.ids import check_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import Event, Message, Passed, State, WrittenCheckpoint

    Result = TypeVar("Result")


@per_event
def check_claim(ctx: Context, event: Event) -> list[Passed]:
    """Pass an event on, but refuse a tool-start that may not run (`deny`), or warn the person
    (`warn`).  A prompt is not refused here; one that was refused before is only passed on."""
    if event.get("refused"):
        return [event]
    objections = _run_guarded(_judge_start, ctx.repo, event) or []
    if any(objection["type"] == "refuse" for objection in objections):
        return [*objections]
    return [event, *objections]


def _judge_start(repo: Repo, event: Event) -> list[Message]:
    from gitcp import guard

    mode = guard.get_mode(repo)
    if mode != "off" and event["event"] == "tool-start":
        from gitcp.guard import tool_calls

        return _object(mode, tool_calls.start_call(repo, event, leave_all))
    if mode != "off" and event["event"] == "turn-start":
        _leave_claims(repo, event)
        lines = [guard.judge_prompt(repo, event["session_id"])]
        company = guard.list_company(repo, event["session_id"])
        if company:
            from gitcp.guard import tool_calls

            lines.append(tool_calls.format_company(repo, company))
        return build_messages("\n\n".join(filter(None, lines)))
    return []


def _object(mode: str, *objections: str) -> list[Message]:
    """A refusal (`deny`), which the model reads, or a message to the person (`warn`), for each
    objection that is not empty."""
    kind = "refuse" if mode == "deny" else "say"
    return [{"type": kind, "message": text} for text in objections if text]


def release_claim(
    ctx: Context, records: Iterable[Passed], args: Namespace | None = None
) -> list[Passed]:
    """Put off until after all stages, which still hold it, to release what these events end; with
    args.session release what that session holds now, a record for each claim."""
    if args and args.session:
        from gitcp.guard import claim_records

        return [*claim_records.release_session(ctx.repo, args.session)]
    records = list(records)
    for record in records:
        if is_of_agent(record):
            _release_later(ctx, record)
    return records


def _release_later(ctx: Context, event: Event) -> None:
    """After all stages: judge the call that ended, record its edits, and release its claims."""

    def end(has_failed: bool) -> list[Message]:
        if event["event"] == "tool-end":
            return _run_guarded(_end_call, ctx, event, has_failed) or []
        _run_guarded(_leave_claims, ctx.repo, event)
        return []

    ctx.endings.append(end)


def _leave_claims(repo: Repo, event: Event) -> None:
    """Release the claims of a session, if there are any, as its turn begins or ends."""
    if list_names(locate_claims(repo)):
        from gitcp.guard import tool_calls

        tool_calls.leave_claim(repo, event)


def withdraw_claims(repo: Repo, event: Event) -> None:
    """Release what a tool-start has claimed that is refused after it: no tool-end comes."""
    from gitcp.guard import tool_calls

    _run_guarded(tool_calls.let_go, _run_guarded(tool_calls.list_held, repo, event) or [])


def _end_call(ctx: Context, event: Event, has_failed: bool) -> list[Message]:
    """The objections to a call that ended.  has_failed: a stage has, so that its claims are only
    released."""
    from gitcp import guard
    from gitcp.guard import tool_calls

    mode = guard.get_mode(ctx.repo)
    objection = ""
    loss = ""
    held = _run_guarded(tool_calls.list_held, ctx.repo, event) or []
    if not has_failed and mode != "off":
        ended = _run_guarded(tool_calls.end_call, event, held)
        if ended:
            objection = ended.objection
        if ended is None or not ended.is_taken:
            loss = _run_guarded(_record_edits, ctx, event, mode) or ""
    _run_guarded(tool_calls.let_go, held)
    return _object(mode, objection, loss)


def _record_edits(ctx: Context, event: Event, mode: str) -> str:
    """Record the edits that the stages wrote into the journal on the session's ref; return the
    objection to what the call has discarded, or ''."""
    from gitcp.guard import tool_calls

    if mode == "deny" and ctx.read_state(event["session_id"], rebuild=False):
        from gitcp.guard import reports

        reports.record_call(ctx.repo, event)
    if get_call(event).get("kind") == "write":
        return ""
    return tool_calls.judge_losses(ctx.repo, event)


def _run_guarded(work: Callable[..., Result], *args: object) -> Result | None:
    """The result of work; None, with a warning, if it fails, so that the agent's work goes on."""
    try:
        return work(*args)
    except Exception as e:
        from gitcp.text import console

        console.warn(f"the guard could not check this: {e}")
        return None


def notice_unrecorded(repo: Repo) -> str:
    """What is to be said of conversations of which no hook has heard, if a client has something
    new."""
    from gitcp.record import unheard

    if not unheard.is_look_due(repo):
        return ""

    from gitcp.extras.imports import unasked

    return unasked.notice_unrecorded(repo)


@per_record
def write_checkpoint(ctx: Context, record: Passed) -> list[Passed]:
    """Write a checkpoint of the session's new work for an event, and one for a checkpoint record
    without an oid, by its fields."""
    if record.get("type") == "checkpoint" and "oid" not in record:
        from gitcp.record.stream import stated

        session_id = check_session_id(record.get("session_id"))
        state = ctx.read_state(session_id) or session.make_state(
            ctx.repo, session_id, str(record.get("agent") or ""), ctx.head
        )
        made = stated.write_stated(ctx.repo, state, ctx.head, record)
        ctx.keep(state)
        return [made]
    if is_of_agent(record):
        return _write_work(ctx, record)
    return [record]


def _write_work(ctx: Context, event: Event) -> list[Passed]:
    state = ctx.read_state(event["session_id"])
    if state is None:
        return [event]
    if event["event"] != "compact":
        from gitcp.record import turn

        turn.keep_verdict(state)
    messages: list[Passed] = []
    if event["event"] == "turn-end":
        messages += build_messages(_describe_unread(ctx.repo, state))
    known = set(state.get("over_limit", ()))
    if event["event"] in ("turn-end", "subagent-end") and _makes_commits(ctx.repo):
        from gitcp.steps.commits import auto

        messages += auto.save_work(ctx, event)
        state = ctx.read_state(event["session_id"], rebuild=False) or state
        return [event, *messages, *build_messages(_describe_over_limit(state, known))]

    from gitcp import link

    oid = link.write_checkpoint(ctx.repo, state, event, ctx.head)
    ctx.keep(state)
    messages += build_messages(_describe_over_limit(state, known))
    if oid:
        ref = state["shadow_ref"]
        session_id = state["session_id"]
        written: WrittenCheckpoint = {
            "type": "checkpoint",
            "oid": oid,
            "ref": ref,
            "session_id": session_id,
        }
        messages.append(written)
    return [event, *messages]


def _describe_unread(repo: Repo, state: State) -> str:
    """The message about a transcript that cannot be read, '' if it can."""

    from gitcp.checkpoints import transcripts

    why = transcripts.explain_unreadable(repo, state.get("transcript_path"))
    if not why:
        return ""

    from gitcp.text import console

    console.mute(why)
    return f"gitcp: {why}"


def _describe_over_limit(state: State, reported: set[str]) -> str:
    """The message about files that are too large, without those reported before; '' for none."""
    new = {p: why for p, why in state.get("over_limit", {}).items() if p not in reported}
    if not new:
        return ""

    from gitcp.record.snapshot import limits

    return limits.format_omission(new)


def _makes_commits(repo: Repo) -> bool:
    """Whether the strategy makes a real commit of a turn."""
    if repo.config.get_option("gitcp.strategy") == "manual-commit":
        return False

    from gitcp.git import config_table
    from gitcp.setup import guard_files

    return guard_files.get_strategy(repo) == config_table.AUTO


@per_event
def finalize(ctx: Context, event: Event) -> list[Passed]:
    """Finalize the committed checkpoints of an event's session, and at its start settle HEAD."""
    if event["event"] in ("turn-end", "session-end"):
        _read_on(ctx, event["session_id"], event["event"] == "session-end")
    done = _complete_session(ctx, event["session_id"])
    if event["event"] == "session-end" and done:
        _read_on(ctx, event["session_id"], whole=True)
    if event["event"] in ("session-start", "turn-start") and not event.get("refused"):
        if len(session.list_recent_ids(ctx.repo)) > session.MOST:
            ctx.leave()

            from gitcp.record.session import others

            others.put_away(ctx.repo)
        done += _settle_head(ctx, event["session_id"])
    return [event, *done]


def _read_on(ctx: Context, session_id: str, whole: bool) -> None:
    """Complete checkpoints that wait until a long transcript is read."""
    state = ctx.read_state(session_id, rebuild=False)
    if state and state.get("unread"):
        from gitcp.link import unread

        unread.read_on(ctx, session_id, whole)


def _complete_session(ctx: Context, session_id: str) -> list[Passed]:
    state = ctx.read_state(session_id, rebuild=False)
    if not state or not session.lacks_transcript(state):
        return []

    from gitcp.link import condense

    done = condense.finalize(ctx.repo, state)
    ctx.keep(state)
    written: list[Passed] = []
    for checkpoint_id in done:
        one: WrittenCheckpoint = {
            "type": "checkpoint",
            "checkpoint_id": checkpoint_id,
            "session_id": session_id,
        }
        written.append(one)
    return written


def _settle_head(ctx: Context, session_id: str) -> list[Passed]:
    """Settle the commits up to HEAD if gitcp has not seen it yet."""

    from gitcp.record import match

    if not match.is_unseen(ctx.repo, ctx.head):
        return []

    from gitcp.link import relink

    return [*build_messages(relink.link_pulled(ctx, session_id))]
