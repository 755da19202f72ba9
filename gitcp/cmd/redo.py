"""gitcp-redo - do again what was undone"""

from __future__ import annotations

from gitcp.cmd import undo
from gitcp.console import cli
from gitcp.console.options import make_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.repo import Repo
    from gitcp.store.back.steps import Outcome
    from gitcp.store.git.objects import Objects

OPTIONS = (
    *undo.COMMON,
    make_value(
        "step",
        "<step>",
        "the step: the beginning of its id (default: what was undone last)",
        nargs="?",
        default="",
    ),
)


def run(argv: Sequence[str]) -> int:
    """Redo one step."""
    from gitcp.store.back import steps

    args = cli.parse("redo", OPTIONS, argv)

    def redo_step(repo: Repo, objects: Objects) -> Outcome:
        agree = undo.Agreement(repo, args)
        mover = steps.Mover(repo, objects, agree, undo.make_progress(), args.dry_run)
        return mover.redo_step(args.step, args.conflict)

    return undo.run_step(args, redo_step, "redone")
