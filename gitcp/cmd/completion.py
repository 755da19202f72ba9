"""gitcp-completion - write what a shell needs to complete commands"""

from __future__ import annotations

import sys

from gitcp import commands
from gitcp.console import cli
from gitcp.console.notice import escape_unprintable
from gitcp.console.options import make_flag, make_value
from gitcp.core.render import completion
from gitcp.errors import NO, OK, Error, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.console.options import Rows
    from gitcp.core.render.completion import Candidates

OPTIONS = (
    make_flag("--words", "list what may stand for the last of the words of a command line"),
    make_value("word", "<word>", "bash, zsh or fish, or the words of a command line", nargs="+"),
)


def run(argv: Sequence[str]) -> int:
    """Write the completions of a shell; with --words the candidates, NO where there is none."""
    args = cli.parse("completion", OPTIONS, argv)
    if args.words:
        offered = _list_candidates(args.word)
        for word, about in offered.items():
            print("\t".join(map(escape_unprintable, filter(None, (word, about)))))
        return OK if offered else NO
    if len(args.word) != 1 or args.word[0] not in completion.SHELLS:
        raise InputError(f"not one of {', '.join(completion.SHELLS)}: '{' '.join(args.word)}'")
    sys.stdout.write(format_script(args.word[0]))
    return OK


def format_script(shell: str) -> str:
    """The completions for bash, zsh or fish."""
    return completion.format_script(shell, commands.NAMES)


def list_rows(name: str) -> Rows:
    """What a command takes on its line."""
    from importlib import import_module

    from gitcp import stages

    if module := commands.get_module(name):
        options: Rows = import_module(module).OPTIONS
        return options
    return stages.find_stage(name)[1]


def _list_candidates(words: Sequence[str]) -> Candidates:
    """What may stand for the last of the words, each with what it is."""
    command, *rest = completion.split_words(words) or [""]
    offered: Candidates
    begun = rest[-1] if rest else command
    if not rest or command == "help":
        offered = {name: commands.get_summary(name) for name in commands.NAMES}
        offered["help"] = "show a page of the manual"
    elif command in commands.NAMES:
        offered, kind = completion.list_candidates(list_rows(command), rest)
        if command == "config" and kind == "key":
            offered = _list_keys()
        elif kind:
            offered = {**offered, **_list_values(kind, begun)}
        if begun.startswith("-"):
            offered["--help"] = "show a summary of the options and exit"
    else:
        return {}
    return {word: about for word, about in offered.items() if word.startswith(begun)}


def _list_keys() -> Candidates:
    from gitcp.core.config_table import KEYS

    return {name: key["meaning"] for name, key in KEYS.items()}


def _list_values(kind: str, begun: str) -> Candidates:
    from gitcp import agents
    from gitcp.repo import Repo
    from gitcp.store.search import candidates

    if kind == "agent":
        return {name: agents.get_client(name).AGENT_TYPE for name in agents.list_names()}
    try:
        return candidates.find_candidates(Repo.find(), kind, begun)
    except Error:
        return {}  # no repository: nothing is known
