"""gitcp-stats - show how much of a range agents and people wrote"""

from __future__ import annotations

import sys

from gitcp.commands import TOOLS
from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("gitcp-stats", TOOLS["stats"])
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="write a record")
    how.add_argument("--markdown", action="store_true", help="write tables for a pull request")
    p.add_argument(
        "words",
        nargs="*",
        metavar="<revision>",
        help="as in git-log(1) (default: HEAD); behind -- paths that the counting is limited to",
    )
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Show whose lines the commits of a range have; nothing is changed."""
    import os

    from gitcp.core.stats.sums import Sums
    from gitcp.repo import Repo
    from gitcp.store.blame.evidence import Evidence
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.stats import history

    words, paths = list(argv), []
    if "--" in words:
        at = words.index("--")
        words, paths = words[:at], words[at + 1 :]
    args = parser().parse_args(words)
    repo, sums = Repo.find(), Sums()
    below = os.path.relpath(os.getcwd(), repo.top) if repo.top else "."
    paths = [os.path.normpath(os.path.join(below, path)) for path in paths]
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects)
        for commit in history.commits(repo, evidence, args.words, paths):
            sums.take(commit, evidence.blob)
    if args.json:
        from gitcp import record

        record.write(sys.stdout.buffer, [sums.record()])
    elif args.markdown:
        from gitcp.core.render import stats_lines

        for line in stats_lines.markdown(sums.record()):
            print(line)
    else:
        from gitcp.cmd import show
        from gitcp.core.render import stats_lines

        show.page(stats_lines.table(sums.record()))
    return OK
