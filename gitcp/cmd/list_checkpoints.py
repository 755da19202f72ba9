"""gitcp-list-checkpoints - list committed checkpoints as records"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("list-checkpoints")
    only = "only those of sessions whose id begins with <id>"
    p.add_argument("-s", "--session", metavar="<id>", default="", help=only)
    p.add_argument("-z", action="store_true", help="write the ids alone, each ended by NUL")
    return p


def listed(session: str) -> Iterator[Record]:
    """A record for each committed checkpoint, by id; session: the beginning of a session id."""
    from gitcp.repo import Repo
    from gitcp.store.v1 import committed_list

    for record in committed_list.retold(Repo.find(), committed_list.record):
        if not session or any(sid.startswith(session) for sid in record["sessions"]):
            yield record


def bind(argv: Sequence[str]) -> Stage:
    """A source: what comes in is not read."""
    opts = parser().parse_args(argv)
    return lambda _: listed(opts.session)


def main() -> int:
    if "-z" not in sys.argv[1:]:
        return cli.source_main(bind, sys.argv[1:])

    def body() -> int:
        for checkpoint in bind(sys.argv[1:])(()):
            sys.stdout.write(checkpoint["checkpoint_id"] + "\0")
        return OK

    return cli.guard(body)
