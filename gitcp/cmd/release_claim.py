"""gitcp-release-claim - let go of what a tool call claimed"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """No options: what ends is in the events."""
    from gitcp.commands import STAGES
    from gitcp.console import cli

    return cli.Parser("gitcp-release-claim", STAGES["release-claim"])


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
    said = _guarded(_judged, event)
    try:
        yield event
    finally:
        _guarded(_let_go, event)
    yield from said or ()


def _guarded(work: Callable[[Record], list[Record]], event: Record) -> list[Record] | None:
    try:
        return work(event)
    except Exception as e:  # its own failure must not stop the agent's work
        print(f"warning: the guard is not at work: {e}", file=sys.stderr)
        return None


def _judged(event: Record) -> list[Record]:
    from gitcp.repo import Repo
    from gitcp.store.guard import guard

    repo = Repo.here()
    mode = guard.mode(repo)
    said = guard.end(repo, event) if mode != "off" and event["event"] == "tool-end" else ""
    return [{"type": "refuse" if mode == "deny" else "say", "message": said}] if said else []


def _let_go(event: Record) -> list[Record]:
    from gitcp.repo import Repo
    from gitcp.store.guard import guard

    if event["event"] == "tool-end":
        guard.let_go(Repo.here(), event)
    else:
        guard.leave(Repo.here(), event)
    return []


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
