"""gitcp-list-refs - list refs as records"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.core.decide.ref_expiry import OURS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo

_FORMAT = "--format=%(refname)%00%(objectname)%00%(creatordate:unix)"


def parser() -> cli.Parser:
    p = cli.Parser("list-refs")
    what = "as in git-for-each-ref(1) (default: every ref of gitcp)"
    p.add_argument("pattern", nargs="*", metavar="<pattern>", help=what)
    return p


def listed(repo: Repo, patterns: Sequence[str]) -> Iterator[Record]:
    """A record of type ref for each ref below patterns, in the order of their names."""
    from gitcp.record import text

    for line in repo.git.lines("for-each-ref", _FORMAT, "--", *patterns, sep=b"\n"):
        ref, oid, time = text(line).split("\0")
        yield {"type": "ref", "ref": ref, "oid": oid, "time": int(time or 0)}


def bind(argv: Sequence[str]) -> Stage:
    from gitcp.repo import Repo

    patterns = parser().parse_args(argv).pattern or list(OURS)
    return lambda _: listed(Repo.find(), patterns)


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
