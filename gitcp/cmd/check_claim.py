"""gitcp-check-claim - say whether a tool call may run here, and claim its paths"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.core.record_types import Record, Stage


def parser() -> Parser:
    """No options: what is asked for is in the events."""
    from gitcp.console import cli

    return cli.Parser("check-claim")


def bind(argv: Sequence[str]) -> Stage:
    """A tool-start that may run is passed on; one that may not becomes a refusal (`deny`) or
    is passed on with a word to the person (`warn`).  No prompt is refused here; one that
    was refused before leaves nothing behind."""
    if argv:
        parser().parse_args(argv)
    return _events


def _events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        of_session = record.get("type") == "event" and record.get("session_id")
        if of_session and not record.get("refused"):
            yield from _event(record)
        else:
            yield record


def _event(event: Record) -> Iterator[Record]:
    try:
        refused, message = _judged(event)
    except Exception as e:  # its own failure must not stop the agent's work
        print(f"warning: the guard is not at work: {e}", file=sys.stderr)
        refused, message = False, ""
    if refused:
        yield {"type": "refuse", "message": message}
        return
    yield event
    if message:
        yield {"type": "say", "message": message}


def _judged(event: Record) -> tuple[bool, str]:
    """(whether to refuse, what there is to say)."""
    from gitcp import context
    from gitcp.repo import Repo
    from gitcp.store.guard import claims, guard

    repo, name = Repo.here(), event["event"]
    mode = guard.mode(repo)
    if mode == "off" or name not in ("tool-start", "turn-start"):
        return False, ""
    if name == "tool-start":
        message = guard.start(repo, event, context.leave_all)
        return bool(message) and mode == "deny", message
    claims.leave(repo, event)
    return False, guard.greet(repo, event)


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
