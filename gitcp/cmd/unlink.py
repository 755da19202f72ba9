"""gitcp-unlink - take the link to a checkpoint off a commit by hand"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("unlink")
    p.add_argument("-m", "--message", metavar="<reason>", default="", help="why, for the note")
    p.add_argument("--json", action="store_true", help="write records, one to a line")
    p.add_argument("commit", metavar="<commit>", help="the commit, which stays as it is")
    p.add_argument(
        "name", nargs="?", metavar="<id>", default="", help="one of its checkpoints; default: all"
    )
    return p


def run(argv: Sequence[str]) -> int:
    """Unlink, and say from what."""
    args = parser().parse_args(argv)
    from gitcp import context
    from gitcp.cmd.link import tell
    from gitcp.store.git.commit import need_commit
    from gitcp.store.relink import by_hand

    with context.here() as ctx:
        commit = need_commit(ctx.objects, args.commit)
        gone = by_hand.unlink(ctx, commit, args.name, args.message)
    tell(args.json, "unlinked", commit["oid"], gone)
    return OK


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))
