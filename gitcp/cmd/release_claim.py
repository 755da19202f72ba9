"""gitcp-release-claim - let go of what a tool call claimed"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.core.record_types import Record, Stage


def parser() -> Parser:
    """No options: what ends is in the events."""
    from gitcp.console import cli

    return cli.Parser("release-claim")


def bind(argv: Sequence[str]) -> Stage:
    """Each event is passed on, then the claims that it ends go: later stages still hold them.

    What speaks against the call follows: a refusal (`deny`), which the model reads, or a word
    to the person (`warn`).
    """
    if argv:
        parser().parse_args(argv)
    return _events


def _events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        if record.get("type") == "event" and record.get("session_id"):
            yield from _event(record)
        else:
            yield record


def _event(event: Record) -> Iterator[Record]:
    messages = _guarded(_judged, event)
    try:
        yield event
        if not event.get("poisoned"):
            _guarded(_record, event)
    finally:
        _guarded(_let_go, event)
    yield from messages or ()


def _guarded(work: Callable[[Record], list[Record]], event: Record) -> list[Record] | None:
    try:
        return work(event)
    except Exception as e:  # its own failure must not stop the agent's work
        print(f"warning: the guard is not at work: {e}", file=sys.stderr)
        return None


def _judged(event: Record) -> list[Record]:
    if event["event"] != "tool-end":
        return []
    from gitcp.repo import Repo
    from gitcp.store.guard import guard

    repo = Repo.here()
    mode = guard.mode(repo)
    if mode == "off":
        return []
    objection, event["poisoned"] = guard.end(repo, event)
    return (
        [{"type": "refuse" if mode == "deny" else "say", "message": objection}] if objection else []
    )


def _record(event: Record) -> list[Record]:
    """What the stages after this one put into the journal goes onto the session's ref; not
    where the original it began on has become somebody else's."""
    if event["event"] != "tool-end":
        return []
    from gitcp.repo import Repo
    from gitcp.store.guard import guard

    if guard.mode(Repo.here()) == "deny":
        from gitcp import context
        from gitcp.store.guard import session_change

        ctx = context.here()
        if ctx.state(event["session_id"], rebuild=False):
            session_change.record(ctx.repo, ctx.objects, event)
    return []


def _let_go(event: Record) -> list[Record]:
    from gitcp.repo import Repo

    if event["event"] == "tool-end":
        from gitcp.store.guard import guard

        guard.let_go(Repo.here(), event)
    else:
        from gitcp.store.guard import claims

        claims.leave(Repo.here(), event)
    return []


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
