"""Find a command by its name, and run it; the help of all of them."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from gitcp import VERSION, commands, git, hook
from gitcp.cmd import stages
from gitcp.errors import OK, Error, UsageError
from gitcp.terminal import cli, pages, versions
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

# What people type who know other tools, and the command that does it here.
_SYNONYMS = {
    "enable": "init install setup",
    "disable --uninstall": "uninstall remove",
    "sessions": "list ls ps",
    "rewind": "restore checkout reset rollback back",
    "rewind --list": "checkpoints points snapshots",
    "undo": "revert",
    "resume": "continue",
    "stats --cost": "cost costs tokens usage",
    "page": "html report",
    "page --serve": "serve web",
    "ui": "tui dashboard browse",
    "log": "history timeline",
    "blame": "who",
    "doctor --fix": "repair fix",
    "clean": "gc prune cleanup",
    "forget": "delete purge redact",
    "fetch": "pull sync",
    "config": "settings set",
}

_OPTIONS = ("-C", "-P", "--no-pager")


def main() -> int:
    """Run the command named by argv[0] (gitcp-<name>, git-<name>) or by the first argument."""
    called = os.path.basename(sys.argv[0]).partition("-")[2]
    if called in commands.NAMES:
        return _run_command(called)
    if called:
        return cli.run_guarded(lambda: _refuse_unknown(called))
    return cli.run_guarded(_run_chosen)


def _run_chosen() -> int:
    """The options that git has, too, then the command."""
    while sys.argv[1:2] and sys.argv[1] in _OPTIONS:
        option = sys.argv.pop(1)
        if option == "-C":
            _change_directory(sys.argv[1:2])
            del sys.argv[1]
        else:
            os.environ["GIT_PAGER"] = "cat"
    if len(sys.argv) == 1:
        return _show_help([])
    name = sys.argv.pop(1)
    if name in ("-V", "--version", "version"):
        return _show_version(sys.argv[1:])
    if name in ("-h", "--help", "help"):
        return _show_help(sys.argv[1:])
    sys.argv[0] = f"gitcp-{name}"  # what its usage line and its messages call it
    return _run_command(name)


def _change_directory(directories: Sequence[str]) -> None:
    if not directories:
        raise UsageError("no directory given for '-C'")
    try:
        os.chdir(directories[0] or ".")
    except OSError as e:
        raise Error(f"cannot change to '{directories[0]}': {e.strerror}") from None


def _show_version(words: list[str]) -> int:
    """The version; with --json those of all that a fault may lie in, too."""
    if not words:
        print("gitcp", VERSION)
        return OK
    if words != ["--json"]:
        raise UsageError(f"--version takes nothing but --json, not '{words[0]}'")
    return cli.write_records([versions.build_record()])


def _run_command(name: str) -> int:
    if name == "hook":
        return hook.main()
    command = _find_command(name)
    if name in commands.ASKING:
        git.allow_fetch()
    if name in commands.WHOLE:
        return cli.run_guarded(lambda: _run_on_whole(command))
    return cli.run_guarded(lambda: command(sys.argv[1:]))


def _run_on_whole(command: Callable[[Sequence[str]], int]) -> int:
    """Run a command that reads what is recorded, with all of it."""
    import_module("gitcp.link.reading").settle_here()  # few commands need what it imports
    argv = sys.argv[1:]
    return command(argv)


def _find_command(name: str) -> Callable[[Sequence[str]], int]:
    """The function that runs a command or a stage; raise UsageError for an unknown name."""
    if name not in commands.NAMES:
        _refuse_unknown(name)

    module = commands.get_module(name)
    if module:
        run: Callable[[Sequence[str]], int] = import_module(module).run
        return run
    return lambda argv: stages.run(name, argv)


def _refuse_unknown(name: str) -> NoReturn:
    """Raise UsageError with suggestions."""
    for command, words in _SYNONYMS.items():
        if name in words.split():
            raise UsageError(f"'{name}' is not a gitcp command; did you mean 'gitcp {command}'?")
    known = [*commands.NAMES]
    if name != "git":
        known.append("git")
    meant = console.suggest(name, known) or "; see 'gitcp help -a'"
    raise UsageError(f"'{name}' is not a gitcp command{meant}")


def _show_help(words: list[str]) -> int:
    """The everyday commands; all commands for -a; for a name its page."""
    if not words:
        cli.say(format_overview())
        return OK
    if words[0] in ("-a", "--all"):
        cli.say(format_listing())
        return OK
    name = words[0].removeprefix("gitcp-")
    page = f"gitcp-{name}"
    if name == "gitcp":
        page = name
    if name not in commands.NAMES and not pages.find_page(page):
        _refuse_unknown(name)
    return pages.show_page(page)


_USAGE = "usage: gitcp [-C <dir>] [-P] <command> [<args>]"


def format_overview() -> str:
    """The usage line and the everyday commands, on one screen."""
    parts = [_USAGE]
    for purpose, names in commands.EVERYDAY.items():
        parts.append(purpose)
        parts += [f"   {name:9} {commands.get_summary(name)}" for name in names]
    parts.append("'gitcp demo' shows how it works, 'gitcp help -a' lists all commands")
    return "\n".join(parts)


def format_listing() -> str:
    """The usage line and every command with its summary, people's commands first."""
    parts = [_USAGE]
    for title, table in (("for people", commands.TOOLS), ("plumbing", commands.STAGES)):
        parts.append(f"\n{title}:")
        parts += [f"    {name:18} {commands.get_summary(name)}" for name in table]
    return "\n".join(parts)
