"""What a stage without options needs to be a command: three functions, the same for all."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitcp.console.cli import Parser
    from gitcp.core.record_types import Stage

    Command = tuple[Callable[[], Parser], Callable[[Sequence[str]], Stage], Callable[[], int]]


def plain(name: str, stage: Stage) -> Command:
    """(parser, bind, main) of the stage gitcp-<name>, which takes no option and no argument.

    argparse is brought in only where there is something to parse: a hook gives nothing.
    """

    def parser() -> Parser:
        from gitcp.console import cli

        return cli.Parser(name)

    def bind(argv: Sequence[str]) -> Stage:
        if argv:
            parser().parse_args(argv)
        return stage

    def main() -> int:
        from gitcp.console import cli

        return cli.filter_main(bind, sys.argv[1:])

    return parser, bind, main
