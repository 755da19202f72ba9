"""What every command shares: usage in git's manner, one-line errors, a status."""

from __future__ import annotations

import argparse
import os
import sys

from gitcp import commands, record
from gitcp.console import ending, notice
from gitcp.errors import OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from gitcp.core.record_types import Stage

printable, guard = notice.printable, ending.guard


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises on misuse and never guesses abbreviations.

    name: the command's in the table of commands, which says what it is for.
    """

    def __init__(self, name: str) -> None:
        called = _called(name)
        summary = commands.summary(called)
        text = f"{summary[0].upper()}{summary[1:]}."
        super().__init__(prog=f"gitcp-{called}", description=text, allow_abbrev=False)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse has it; one argument too many is named, and what may have been meant."""
        parsed, more = self.parse_known_args(args, namespace)
        if more:
            self.error(f"unknown argument: '{more[0]}'{self._meant(more[0])}")
        return parsed

    def _meant(self, option: str) -> str:
        known = [o for o in self._option_string_actions if o.startswith("--")]
        return suggestion(option.partition("=")[0], known)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            meant = suggestion(str(value), names) or f"; it is one of {', '.join(names)}"
            raise argparse.ArgumentError(action, f"unknown value '{value}'{meant}")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


def suggestion(word: str, known: Sequence[str]) -> str:
    """'; did you mean …?' with up to three known words that word resembles or begins, else ''."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, 3, 0.6) or [k for k in known if k.startswith(word)][:3]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def of_revisions(name: str) -> Parser:
    """The parser of a command that takes the revisions of a history and nothing else."""
    p = Parser(name)
    p.add_argument(
        "revision", nargs="*", metavar="<revision>", help="as in git-log(1) (default: HEAD)"
    )
    return p


def number(value: str, least: int = 0) -> int:
    """The type of an argument that is a whole number, least or more."""
    if value.isascii() and value.isdecimal() and int(value) >= least:
        return int(value)
    raise argparse.ArgumentTypeError(f"not a {'positive ' if least else ''}number: '{value}'")


def positive(value: str) -> int:
    """The type of an argument that says how many, of which there is at least one."""
    return number(value, 1)


def _called(name: str) -> str:
    """The command as a person named it: some have a short name beside that of their stage."""
    short = os.path.basename(sys.argv[0]).removeprefix("gitcp-")
    return short if commands.ALIASES.get(short) == name else name


def filter_main(bind: Callable[[Sequence[str]], Stage], argv: Sequence[str]) -> int:
    """The main of a stage that reads records: stdin, through the stage, to stdout."""

    def body() -> int:
        stage = bind(argv)
        record.write(sys.stdout.buffer, stage(record.read(sys.stdin.buffer)))
        return OK

    return guard(body)


def source_main(bind: Callable[[Sequence[str]], Stage], argv: Sequence[str]) -> int:
    """The main of a stage that begins a pipe: it reads nothing."""

    def body() -> int:
        record.write(sys.stdout.buffer, bind(argv)(()))
        return OK

    return guard(body)


def agreed(question: str) -> bool:
    """Whether the person at the terminal says yes; where there is none, it was said already."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(printable(question).replace("\n", " "), "[Y/n] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def answered(question: str) -> str:
    """What the person types at the terminal, in small letters; '' where there is nothing more."""
    try:
        return input(question).strip().lower()
    except EOFError:
        print()
        return ""


def chosen(question: str, words: Sequence[str]) -> str:
    """Which of words the person at the terminal takes, by its beginning: the first for a mere
    Enter, and where there is no terminal; the last for whatever is none of them."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return words[0]
    listed = "/".join(f"[{word[0]}]{word[1:]}" for word in words)
    print(printable(question).replace("\n", " "), listed, end=" ", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if answer == "\n":
        return words[0]
    given = answer.strip().lower()
    return next((word for word in words if given and word.startswith(given)), words[-1])


def colour(stream: object, setting: str = "") -> bool:
    """Whether to colour what goes to stream: by setting (color.ui), else at a terminal.

    NO_COLOR and a terminal that is dumb speak against it.
    """
    tty = getattr(stream, "isatty", lambda: False)
    if setting.lower() == "always":
        return True
    if setting.lower() in ("never", "false", "no", "off") or os.environ.get("NO_COLOR"):
        return False
    return bool(tty()) and os.environ.get("TERM") != "dumb"
