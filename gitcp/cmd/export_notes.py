"""gitcp-export-notes - write who wrote which line as notes of Git AI"""

from __future__ import annotations

import sys

from gitcp.commands import TOOLS
from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("gitcp-export-notes", TOOLS["export-notes"])
    p.add_argument(
        "revision", nargs="*", metavar="<revision>", help="as in git-log(1) (default: HEAD)"
    )
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Write the notes, and say on which commits."""
    from gitcp.repo import Repo
    from gitcp.store.blame import exports
    from gitcp.store.blame.evidence import Evidence
    from gitcp.store.git.prefetch import Prefetched

    args = parser().parse_args(argv)
    repo = Repo.find()
    with Prefetched(repo) as objects:
        changed, warnings = exports.note(repo, objects, Evidence(repo, objects), args.revision)
    for warning in warnings:
        print("warning:", cli.printable(warning), file=sys.stderr)
    for oid in changed:
        print(oid)
    return OK
