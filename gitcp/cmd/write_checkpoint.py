"""gitcp-write-checkpoint - write a temporary checkpoint onto its stream"""

from __future__ import annotations

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record, State
    from gitcp.repo import Repo


def _checkpoints(records: Iterable[Record]) -> Iterator[Record]:
    """Each event gets a checkpoint of its session's work so far, if there is new work; each
    checkpoint record without an oid is written as it says."""
    for record in records:
        if record.get("type") == "checkpoint" and "oid" not in record:
            yield _given(record)
            continue
        # The checkpoint comes before the stages that follow hear of the event: they end the turn.
        is_ours = record.get("type") == "event" and record.get("session_id")
        written = list(_write(record)) if is_ours else []
        yield record
        yield from written


def _given(record: Record) -> Record:
    from gitcp import context
    from gitcp.store.stream import given

    with context.here() as ctx:
        return given.write(ctx, record)


def _write(event: Record) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.session import catch_up, events

    with context.here() as ctx:
        state, oid = ctx.state(event["session_id"]), None
        if state is None:
            return
        if event["event"] != "compact":
            events.keep_verdict(state)
        if event["event"] == "turn-end":
            yield from _unread(ctx.repo, state)
        known = set(state.get("over_limit", ()))
        if event["event"] in ("turn-end", "subagent-end") and _commits(ctx.repo):
            from gitcp.store.auto import save

            yield from save.save(ctx, event)
            state = ctx.state(event["session_id"], rebuild=False) or state
            yield from _over_limit(state, known)
            return
        oid = catch_up.checkpoint(ctx.repo, ctx.objects, state, event, ctx.head)
        ctx.keep(state)
    yield from _over_limit(state, known)
    if oid:
        yield {
            "type": "checkpoint",
            "oid": oid,
            "ref": state["shadow_ref"],
            "session_id": state["session_id"],
        }


def _unread(repo: Repo, state: State) -> Iterator[Record]:
    """What to say of a session whose transcript cannot be read."""
    from gitcp.store.v1 import transcript

    if why := transcript.unreadable(repo, state.get("transcript_path")):
        from gitcp.console import notice

        notice.mute(why)
        yield {"type": "say", "message": f"gitcp: {why}"}


def _over_limit(state: State, known: set[str]) -> Iterator[Record]:
    """What to say of files that are too large and were not there at the last turn's end."""
    new = {p: why for p, why in state.get("over_limit", {}).items() if p not in known}
    if new:
        from gitcp.core.decide import omission

        yield {"type": "say", "message": omission.message(new)}


def _commits(repo: Repo) -> bool:
    """Whether the strategy makes a real commit of a turn; asked without importing it."""
    if repo.config.option("gitcp.strategy") == "manual-commit":
        return False
    from gitcp.store.auto import strategy

    return strategy.strategy(repo) == strategy.AUTO


parser, bind, main = stage.plain("write-checkpoint", _checkpoints)
