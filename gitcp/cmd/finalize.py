"""gitcp-finalize - complete the transcripts of a turn's checkpoints"""

from __future__ import annotations

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.context import Context
    from gitcp.core.record_types import Record


_STARTS = ("session-start", "turn-start")


def _finalize(records: Iterable[Record]) -> Iterator[Record]:
    """An event's session gets its turn's committed checkpoints finalized."""
    from gitcp import context

    for record in records:
        yield record
        if record.get("type") == "event" and record.get("session_id"):
            with context.here() as ctx:
                done = [one for name in _whose(ctx, record) for one in _one(ctx, name)]
                done += _settle(ctx, record) if record["event"] in _STARTS else []
            yield from done


def _whose(ctx: Context, event: Record) -> Iterator[str]:
    yield event["session_id"]
    if event["event"] not in _STARTS or event.get("refused"):
        return
    from gitcp.store.aside import index

    if index.crowded(ctx.repo):
        from gitcp.store.aside import put

        ctx.leave()
        put.put(ctx.repo)


def _settle(ctx: Context, event: Record) -> list[Record]:
    """Where HEAD is where nobody has looked yet, the commits up to there are."""
    from gitcp.store.relink import judged

    if event.get("refused") or not judged.any_commit(ctx.repo, ctx.head):
        return []
    from gitcp.store.relink import passed_by

    ctx.leave()
    pulled = passed_by.settle(ctx, event["session_id"])
    what = "a commit that was pulled is" if pulled == 1 else "commits that were pulled are"
    message = f"{what} linked again by a note: {pulled}, 'gitcp log' shows them"
    return [{"type": "say", "message": message}] if pulled else []


def _one(ctx: Context, session_id: str) -> list[Record]:
    state = ctx.state(session_id, rebuild=False)
    if not state or not (state.get("turn_checkpoint_ids") or state.get("pending_finalize")):
        return []
    from gitcp.store.link import finalize

    done = finalize.finalize(ctx.repo, ctx.objects, state)
    ctx.keep(state)
    return [{"type": "checkpoint", "checkpoint_id": i, "session_id": session_id} for i in done]


parser, bind, main = stage.plain("finalize", _finalize)
