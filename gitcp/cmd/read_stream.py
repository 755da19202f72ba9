"""gitcp-read-stream - read the checkpoints of a stream"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.record import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("gitcp-read-stream", "Read the checkpoints of a stream, newest first.")
    p.add_argument("stream", metavar="<stream>", help="its ref, or its id or the beginning of it")
    return p


def history(name: str) -> Iterator[Record]:
    """A record for each checkpoint of a stream, with its prompt and files (gitcp-record(5))."""
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.stream import stream_history, stream_list

    repo = Repo.here()
    with Objects(repo) as objects:
        tip = stream_list.find(repo, objects, name)
        for found in stream_history.chains(repo, [tip])[tip["ref"]]:
            yield stream_history.detailed(objects, found)


def bind(argv: Sequence[str]) -> Stage:
    """A stage that begins a pipe."""
    args = parser().parse_args(argv)
    return lambda _: history(args.stream)


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
