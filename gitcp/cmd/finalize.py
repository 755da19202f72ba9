"""gitcp-finalize - complete the transcripts of a turn's checkpoints"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


_STARTS = ("session-start", "turn-start")


def parser() -> Parser:
    """No options: whose turn ended is in the event."""
    from gitcp.console import cli

    return cli.Parser("gitcp-finalize", "Complete the transcripts of a turn's checkpoints.")


def bind(argv: Sequence[str]) -> Stage:
    """An event's session gets its turn's committed checkpoints finalized; where a session
    starts, also those of sessions whose agent died."""
    if argv:
        parser().parse_args(argv)
    return _finalize


def _finalize(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield record
        if record.get("type") == "event" and record.get("session_id"):
            for session_id in _whose(record):
                yield from _one(session_id)


def _whose(event: Record) -> list[str]:
    if event["event"] not in _STARTS:
        return [event["session_id"]]
    from gitcp.repo import Repo
    from gitcp.store.link import finalize

    gone = finalize.abandoned(Repo.here(), event["session_id"])
    return [event["session_id"], *gone]


def _one(session_id: str) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.session import state as states

    repo, done = Repo.here(), []
    with states.held(repo, [session_id]):
        state = states.load(repo, session_id)
        if state and (state.get("turn_checkpoint_ids") or state.get("pending_finalize")):
            from gitcp.store.git.objects import Objects
            from gitcp.store.link import finalize
            from gitcp.store.session import markers

            with Objects.shared(repo) as objects:
                done = finalize.finalize(repo, objects, state)
                markers.save(repo, state)
    for checkpoint_id in done:
        yield {"type": "checkpoint", "checkpoint_id": checkpoint_id, "session_id": session_id}


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
