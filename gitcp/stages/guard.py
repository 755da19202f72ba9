"""The stages of the guard, which keeps sessions in a worktree from colliding."""

from __future__ import annotations

from gitcp import context
from gitcp.console import options
from gitcp.console.options import make_flag, make_value
from gitcp.repo import Repo
from gitcp.stages import map_events
from gitcp.store import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from gitcp.core.record_types import Record
    from gitcp.store.guard.guard import Held

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
    from gitcp.store.guard import guard

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
        options.warn(f"the guard is not at work: {e}")
        return None


def _list_held(event: Record) -> Held:
    """The claims of a call that has ended, each with its working copy."""
    if event["event"] != "tool-end":
        return []
    from gitcp.store.guard import guard

    return guard.list_held(Repo.find_here(), event)


def _judge_end(event: Record, held: Held) -> list[Record]:
    if event["event"] != "tool-end":
        return []
    repo = Repo.find_here()
    from gitcp.store.guard import guard

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
    from gitcp.store.guard import guard

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
        from gitcp.store.guard import guard

        guard.let_go(held)
    else:
        claims.leave_claim(Repo.find_here(), event)


def list_claims(args: Namespace, _: object) -> Iterator[Record]:
    """A record for each session at work here, and for each path that a call claims."""
    from gitcp.store.guard import reports

    for record in reports.list_records(Repo.find_here()):
        if record["path"] or not args.held:
            yield record


STAGES = {
    "check-claim": (check_claim,),
    "release-claim": (
        release_claim,
        make_value(
            "--session", "<id>", "release what this session holds here; the beginning is enough"
        ),
    ),
    "list-claims": (list_claims, make_flag("--held", "only paths that a tool call holds now")),
}
