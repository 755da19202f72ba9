"""gitcp-why - show the prompt, the words and the edit behind a line"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("why")
    p.add_argument("--full", action="store_true", help="nothing shortened")
    p.add_argument("--json", action="store_true", help="write records, one to a line")
    p.add_argument(
        "revision", nargs="?", default="", metavar="<revision>", help="default: worktree"
    )
    p.add_argument(
        "lines", metavar="<file>:<line>[,<last>]", help="lines of a file, as it is there"
    )
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Show where lines come from; nothing is changed."""
    from gitcp.jj.workspace import git_here
    from gitcp.repo import Repo
    from gitcp.store.blame import origin
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.lines.evidence import Evidence

    args = parser().parse_args(argv)
    repo = Repo.here()
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects)
        records = list(
            origin.origins(repo, git_here(repo), objects, evidence, args.lines, args.revision)
        )
    if args.json:
        from gitcp import record

        record.write(sys.stdout.buffer, records)
    else:
        from gitcp.cmd import show
        from gitcp.core.render import why_lines

        show.page(why_lines.why(records, args.full))
    return OK
