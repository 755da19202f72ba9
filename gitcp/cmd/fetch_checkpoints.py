"""gitcp-fetch-checkpoints - bring the permanent store from a remote"""

from __future__ import annotations

import sys

from gitcp.cmd.push_checkpoints import ref_lines, timeout
from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("fetch-checkpoints")
    p.add_argument("--json", action="store_true", help="write records")
    limit = "give up after so many seconds (default: gitcp.push-timeout, 30)"
    p.add_argument("--timeout", type=cli.number, metavar="<n>", help=limit)
    what = "a remote or its URL (default: the destination, else the one git push would take)"
    p.add_argument("remote", nargs="?", metavar="<remote>", help=what)
    return p


def bind(argv: Sequence[str]) -> Stage:
    """A source: a record of each ref of ours as it stands afterwards."""
    opts = parser().parse_args(argv)
    return lambda _: _fetch(opts.remote, opts.timeout)


def _fetch(name: str | None, seconds: int | None) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.share import sync
    from gitcp.store.v1 import destination

    repo = Repo.find()
    name = name or destination.effective(repo) or destination.usual(repo)
    name = name or destination.need(repo)  # which says that there is none
    with Objects(repo) as objects:
        tips = sync.fetch(repo, objects, name, timeout(repo, seconds))
    for ref, oid in tips.items():
        yield {"type": "ref", "ref": ref, "oid": oid}


def main() -> int:
    def body() -> int:
        from gitcp import record

        opts, moved = parser().parse_args(), list(bind(sys.argv[1:])(()))
        if opts.json:
            record.write(sys.stdout.buffer, moved)
            return OK
        for line in ref_lines({ref["ref"]: ref["oid"] for ref in moved}):
            print(line)
        if not moved:
            print("nothing to fetch: there are no checkpoints")
        return OK

    return cli.guard(body)
