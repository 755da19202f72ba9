"""gitcp-redo - do again what was undone"""

from __future__ import annotations

import sys

from gitcp.cmd import undo
from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo
    from gitcp.store.back.steps import Outcome
    from gitcp.store.git.objects import Objects


def parser() -> cli.Parser:
    p = cli.Parser("redo")
    p.add_argument("--list", action="store_true", help="list the steps, and change nothing")
    undo.options(p)
    which = "the step: the beginning of its id (default: what was undone last)"
    p.add_argument("step", nargs="?", default="", metavar="<step>", help=which)
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Redo one step."""
    from gitcp.store.back import steps

    args = parser().parse_args(argv)

    def one(repo: Repo, objects: Objects) -> Outcome:
        agree = undo.Agreement(repo, args)
        mover = steps.Mover(repo, objects, agree, undo.progress())
        return mover.redo(args.step, args.conflict)

    return undo.moves(args, one, 1, "redone")
