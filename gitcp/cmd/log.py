"""gitcp-log - show commits with the sessions behind them"""

from __future__ import annotations

import sys

from gitcp.commands import TOOLS
from gitcp.console import cli
from gitcp.errors import OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = 1000  # commits at a terminal, where nobody reads on for ever


def parser() -> cli.Parser:
    p = cli.Parser("gitcp-log", TOOLS["log"])
    p.add_argument("-n", metavar="<number>", type=int, help="at most that many commits")
    p.add_argument("--all", action="store_true", help="commits of all branches and tags")
    p.add_argument("--json", action="store_true", help="write records, one to a line")
    p.add_argument(
        "revision", nargs="*", metavar="<revision>", help="as in git-log(1) (default: HEAD)"
    )
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Show commits; nothing is changed."""
    from gitcp.cmd import show
    from gitcp.core.render import log_lines
    from gitcp.repo import Repo
    from gitcp.store.show import commit_list

    args = parser().parse_args(argv)
    if args.n is not None and args.n < 1:
        raise UsageError(f"'-n' is not a positive number: '{args.n}'")
    limit = args.n
    if limit is None and sys.stdout.isatty() and not args.json:
        limit = _PAGE
    options = [*(commit_list.ALL if args.all else ()), *([f"-n{limit}"] if limit else [])]
    found = commit_list.listing(Repo.find(), args.revision, options)
    if args.json:
        from gitcp import record

        record.write(sys.stdout.buffer, found)
    else:
        show.page(log_lines.log(found))
    return OK
