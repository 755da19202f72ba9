"""gitcp-list-streams - list the streams of temporary checkpoints"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("list-streams")
    p.add_argument(
        "--session", metavar="<id>", help="only those it is on; the beginning of its id is enough"
    )
    return p


def listed(session: str | None) -> list[Record]:
    """A record for each stream of the repository, newest first (gitcp-record(5))."""
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.session import session_read
    from gitcp.store.stream import stream_list

    repo = Repo.here()
    with Objects(repo) as objects:
        opened, _ = session_read.recent(repo, 0)  # only such a state names a stream
        streams = stream_list.listing(repo, objects, opened)
    if session is None:
        return streams
    names = [name for stream in streams for name in stream["sessions"]]
    wanted = session_read.pick(session, names)
    return [stream for stream in streams if wanted in stream["sessions"]]


def bind(argv: Sequence[str]) -> Stage:
    """A stage that begins a pipe."""
    args = parser().parse_args(argv)
    return lambda _: listed(args.session)


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
