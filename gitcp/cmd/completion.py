"""gitcp-completion - write what a shell needs to complete commands"""

from __future__ import annotations

import sys

from gitcp import commands
from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.render.completion import Command


def parser() -> cli.Parser:
    """One argument: for which shell."""
    from gitcp.core.render.completion import SHELLS

    p = cli.Parser("completion")
    p.add_argument("shell", choices=SHELLS, metavar="<shell>", help="bash, zsh or fish")
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Write the completions of a shell to standard output."""
    sys.stdout.write(script(parser().parse_args(argv).shell))
    return OK


def script(shell: str) -> str:
    """The completions for bash, zsh or fish, made of the table of commands and their parsers."""
    from gitcp.core.render import completion

    names = (*commands.TOOLS, *commands.STAGES)
    return completion.script(shell, {name: _command(name) for name in names})


def _command(name: str) -> Command:
    from importlib import import_module

    options, words = [], []
    for action in import_module(commands.module(name)).parser()._actions:
        if action.option_strings:
            options.append((list(action.option_strings), str(action.help or "")))
        else:
            words += [word for word in action.choices or () if isinstance(word, str)]
    return {"summary": commands.summary(name), "options": options, "words": words}
