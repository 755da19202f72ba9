"""gitcp-match-stream - decide which stream a turn belongs to"""

from __future__ import annotations

from gitcp.console import stage
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.context import Context
    from gitcp.core.record_types import Record, Verdict


def _verdicts(records: Iterable[Record]) -> Iterator[Record]:
    """Each turn-start event gets its verdict, kept in the session's state and passed on."""
    for record in records:
        is_turn = record.get("type") == "event" and "dirty" in record
        matched = list(_decide(record)) if is_turn else []
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
        stashed = _stashed(ctx, verdict)
        ctx.keep(state)
    if stashed:
        yield {"type": "say", "message": stashed}
    yield {"type": "match", "session_id": event["session_id"], **verdict}


def _stashed(ctx: Context, verdict: Verdict) -> str:
    """What to say of the stream that the turn leaves, in overlap mode or suffix mode."""
    if verdict["verdict"] not in ("reset", "new"):
        return ""
    from gitcp.store.stream import place, shadow_refs, stash_notice

    try:
        tip = shadow_refs.read(ctx.objects, verdict["ref"])
    except Error:
        return ""  # what cannot be read is told of elsewhere
    if tip is None:
        return ""
    # In suffix mode a branch that is left stays where it is.
    ref = place.archive(ctx.repo, tip)[0] if verdict["verdict"] == "reset" else tip["ref"]
    return stash_notice.message(ctx.repo, ctx.objects, tip, ref)


parser, bind, main = stage.plain("match-stream", _verdicts)
