"""gitcp-finalize - complete the transcripts of a turn's checkpoints"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """No options: whose turn ended is in the event."""
    from gitcp import cli

    return cli.Parser("gitcp-finalize", "Complete the transcripts of a turn's checkpoints.")


def bind(argv: Sequence[str]) -> Stage:
    """An event's session gets its turn's committed checkpoints finalized."""
    if argv:
        parser().parse_args(argv)
    return _finalize


def _finalize(records: Iterable[Record]) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store import condense, opened
    from gitcp.store import state as states
    from gitcp.store.objects import Objects

    for record in records:
        yield record
        if record.get("type") != "event" or not record.get("session_id"):
            continue
        repo, session_id = Repo.here(), record["session_id"]
        with states.held(repo, [session_id]), Objects.shared(repo) as objects:
            state = states.load(repo, session_id)
            if state is None or not (
                state.get("turn_checkpoint_ids") or state.get("pending_finalize")
            ):
                continue
            done = condense.finalize(repo, objects, state)
            opened.save(repo, state)
        for checkpoint_id in done:
            yield {
                "type": "checkpoint",
                "checkpoint_id": checkpoint_id,
                "session_id": session_id,
            }


def main() -> int:
    from gitcp import cli

    return cli.filter_main(bind, sys.argv[1:])
