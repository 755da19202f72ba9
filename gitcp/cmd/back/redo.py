"""gitcp-redo - do again what was undone"""

from __future__ import annotations

from gitcp.cmd.back import undo
from gitcp.commands import make_value
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    args = cli.parse("redo", OPTIONS, argv)
    return undo.run_step(args, lambda mover: mover.redo_step(args.step, args.conflict), "redone")
