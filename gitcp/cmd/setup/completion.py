"""gitcp-completion - write what a shell needs to complete commands"""

from __future__ import annotations

import sys
from importlib import import_module

from gitcp import agents, commands
from gitcp.cmd import stages
from gitcp.commands import flatten_rows, make_flag, make_value
from gitcp.errors import NO, OK, Error, InputError
from gitcp.extras.search import search
from gitcp.git import config_table, repo
from gitcp.terminal import cli, completion
from gitcp.text.console import escape_unprintable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.commands import Rows
    from gitcp.terminal.completion import Candidates

OPTIONS = (
    make_flag("--words", "list the candidates for the last word of a command line"),
    make_value("word", "<word>", "bash, zsh or fish, or the words of a command line", nargs="+"),
)


def run(argv: Sequence[str]) -> int:
    """Write the completions of a shell; with --words the candidates, NO if there is none."""
    args = cli.parse("completion", OPTIONS, argv)
    if args.words:
        candidates = _list_candidates(args.word)
        for word, description in candidates.items():
            print("\t".join(map(escape_unprintable, filter(None, (word, description)))))
        return OK if candidates else NO
    if len(args.word) != 1 or args.word[0] not in completion.SHELLS:
        raise InputError(f"not one of {', '.join(completion.SHELLS)}: '{' '.join(args.word)}'")
    sys.stdout.write(format_script(args.word[0]))
    return OK


def format_script(shell: str) -> str:
    """The completions for bash, zsh or fish."""
    return completion.format_script(shell, commands.NAMES)


def list_rows(name: str) -> Rows:
    """The options and arguments of a command."""
    module = commands.get_module(name)
    if module:
        options: Rows = import_module(module).OPTIONS
        return options
    return stages.find_stage(name)[1]


def _list_candidates(words: Sequence[str]) -> Candidates:
    """The candidates for the last of the words, each with a description."""
    command, *arguments = completion.split_words(words) or [""]
    candidates: Candidates = {}
    prefix = arguments[-1] if arguments else command
    if not arguments or command == "help":
        candidates = {name: commands.get_summary(name) for name in commands.NAMES}
        candidates["help"] = "show a page of the manual"
    elif command in commands.NAMES:
        candidates, kind = completion.list_candidates(flatten_rows(list_rows(command)), arguments)
        if kind:
            candidates |= _list_values(kind, prefix)
        if prefix.startswith("-"):
            candidates["--help"] = "show a summary of the options and exit"
    return {word: text for word, text in candidates.items() if word.startswith(prefix)}


def _list_values(kind: str, prefix: str) -> Candidates:
    if kind == "key":
        return {name: key["meaning"] for name, key in config_table.KEYS.items()}
    if kind == "agent":
        return {name: agents.get_client(name).AGENT_TYPE for name in agents.list_names()}
    try:
        return search.find_candidates(repo.Repo.find(), kind, prefix)
    except Error:
        return {}  # there is no repository
