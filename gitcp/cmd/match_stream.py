"""gitcp-match-stream - decide which stream a turn belongs to"""

from __future__ import annotations

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.record import Record


def _verdicts(records: Iterable[Record]) -> Iterator[Record]:
    """Each turn-start event gets its verdict, kept in the session's state and passed on."""
    for record in records:
        told = record.get("type") == "event" and "dirty" in record
        matched = list(_decide(record)) if told else []
        yield record
        yield from matched


def _decide(event: Record) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.stream import stream_verdict

    dirty = {path: tuple(e) if e else None for path, e in event["dirty"]}
    with context.here() as ctx:
        state = ctx.state(event["session_id"], rebuild=False)
        if state is None:
            return
        verdict = stream_verdict.decide(ctx.repo, ctx.objects, state, event["head"], dirty)
        ctx.keep(state)
    yield {"type": "match", "session_id": event["session_id"], **verdict}


parser, bind, main = stage.plain("match-stream", _verdicts)
