"""gitcp-export-traces - write Agent Trace records of a range"""

from __future__ import annotations

import sys

from gitcp.commands import TOOLS
from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("gitcp-export-traces", TOOLS["export-traces"])
    p.add_argument(
        "revision", nargs="*", metavar="<revision>", help="as in git-log(1) (default: HEAD)"
    )
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Write a record for each commit that a session wrote lines of; nothing is changed."""
    from gitcp import record
    from gitcp.repo import Repo
    from gitcp.store.blame import exports
    from gitcp.store.blame.evidence import Evidence
    from gitcp.store.git.prefetch import Prefetched

    args = parser().parse_args(argv)
    repo = Repo.find()
    with Prefetched(repo) as objects:
        traces = exports.traces(repo, objects, Evidence(repo, objects), args.revision)
        record.write(sys.stdout.buffer, traces)
    return OK
