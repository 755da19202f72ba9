"""gitcp-match-stream - decide which stream a turn belongs to"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """No options: the decision's settings are gitcp.streams and gitcp.suffix-match."""
    from gitcp.console import cli

    return cli.Parser("gitcp-match-stream", "Decide which stream a turn belongs to.")


def bind(argv: Sequence[str]) -> Stage:
    """Each turn-start event gets its verdict, kept in the session's state and passed on."""
    if argv:
        parser().parse_args(argv)
    return _verdicts


def _verdicts(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        told = record.get("type") == "event" and "dirty" in record
        matched = list(_decide(record)) if told else []
        yield record
        yield from matched


def _decide(event: Record) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.session import markers
    from gitcp.store.session import state as states
    from gitcp.store.stream import stream_verdict

    repo = Repo.here()
    dirty = {path: tuple(e) if e else None for path, e in event["dirty"]}
    with states.held(repo, [event["session_id"]]), Objects.shared(repo) as objects:
        state = states.load(repo, event["session_id"])
        if state is None:
            return
        told = stream_verdict.decide(repo, objects, state, event["head"], dirty)
        markers.save(repo, state)
    yield {"type": "match", "session_id": event["session_id"], **told}


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
