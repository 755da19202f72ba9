"""gitcp-completion - write what a shell needs to complete commands"""

from __future__ import annotations

import sys

from gitcp import commands
from gitcp.console import cli
from gitcp.console.options import value
from gitcp.core.render import completion
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.console.options import Rows
    from gitcp.core.render.completion import Command

OPTIONS = (value("shell", "<shell>", "bash, zsh or fish", choices=completion.SHELLS),)


def run(argv: Sequence[str]) -> int:
    """Write the completions of a shell to standard output."""
    sys.stdout.write(script(cli.parse("completion", OPTIONS, argv).shell))
    return OK


def script(shell: str) -> str:
    """The completions for bash, zsh or fish, made of the table of commands and their options."""
    return completion.script(shell, {name: _command(name) for name in commands.NAMES})


def rows(name: str) -> Rows:
    """What a command takes on its line."""
    from importlib import import_module

    from gitcp import stages

    if module := commands.module(name):
        options: Rows = import_module(module).OPTIONS
        return options
    return stages.find_stage(name)[1]


def _command(name: str) -> Command:
    options, words = [(["-h", "--help"], "show this help message and exit")], []
    for row in rows(name):
        for names, more in row if isinstance(row, list) else [row]:
            if names[0].startswith("-"):
                options.append((list(names), str(more["help"])))
            else:
                words += [word for word in more.get("choices", ()) if isinstance(word, str)]
    return {"summary": commands.summary(name), "options": options, "words": words}
