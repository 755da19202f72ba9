"""What every command shares: usage in git's manner, one-line errors, a status."""

from __future__ import annotations

import argparse
import os
import sys

from gitcp import commands, record
from gitcp.console import ending, notice, options
from gitcp.errors import OK, UsageError
from gitcp.start import late, stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

    from gitcp.console.options import Rows
    from gitcp.core.record_types import Record

printable, guard = notice.escape_unprintable, ending.run_guarded


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises on misuse and never guesses abbreviations.

    name: the command's in the table of commands, which says what it is for.
    """

    def __init__(self, name: str, rows: Rows = ()) -> None:
        called = _find_called_name(name)
        summary = commands.get_summary(called)
        text = f"{summary[0].upper()}{summary[1:]}."
        super().__init__(prog=f"gitcp-{called}", description=text, allow_abbrev=False)
        self.set_defaults(error=self.error)
        self._rows = rows
        for row in rows:
            group = self.add_mutually_exclusive_group() if isinstance(row, list) else self
            for names, more in row if isinstance(row, list) else [row]:
                group.add_argument(*names, **more)

    def format_usage(self) -> str:
        """The usage, folded between options, as no two versions of argparse do."""
        self.usage = self._fold_usage()
        return super().format_usage()

    def format_help(self) -> str:
        self.usage = self._fold_usage()
        return super().format_help()

    def _fold_usage(self) -> str:
        size = stdlib.shutil.get_terminal_size().columns - 2
        start = f"usage: {self.prog}"
        indent = " " * min(len(start) + 1, 8 if size < 60 else size)
        written, line = [], start
        for word in ("[-h]", *(part for row in self._rows for part in options.format_usage(row))):
            if len(line) + 1 + len(word) > size:
                written.append(line)
                line = indent.removesuffix(" ")
            line += f" {word}"
        text = "\n".join([*written, line]).removeprefix("usage: ")
        return text.replace("%", "%%")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse has it; one argument too many is named, and what may have been meant."""
        parsed, more = self.parse_known_args(args, namespace)
        if more:
            self.error(f"unknown argument: '{more[0]}'{self._suggest_option(more[0])}")
        return parsed

    def _suggest_option(self, option: str) -> str:
        known = [o for o in self._option_string_actions if o.startswith("--")]
        return suggest(option.partition("=")[0], known)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(action, describe_unknown(str(value), names))

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


def describe_unknown(value: str, choices: Sequence[str]) -> str:
    """The message about an unknown value."""
    meant = suggest(value, choices) or f"; it is one of {', '.join(choices)}"
    return f"unknown value '{value}'{meant}"


def suggest(word: str, choices: Sequence[str]) -> str:
    """'; did you mean …?' with up to three known words that word resembles or begins, else ''."""
    near = stdlib.difflib.get_close_matches(word, choices, 3, 0.6)
    near = near or [k for k in choices if k.startswith(word)][:3]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def _find_called_name(name: str) -> str:
    """The command as a person named it: some have a name beside that of their stage."""
    called = os.path.basename(sys.argv[0]).removeprefix("gitcp-")
    return called if commands.ALIASES.get(name) == called else name


def parse(name: str, rows: Rows, argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command, by its rows; `error` among them raises UsageError with a message
    and the usage line."""
    return Parser(name, rows).parse_args(argv)


def write_bytes(parts: Iterable[bytes]) -> None:
    """Write data to standard output: to the byte, at a terminal what that can show of it."""
    if sys.stdout.isatty():
        parts = (show_escaped(record.decode_name(part)).encode() for part in parts)
    sys.stdout.buffer.writelines(parts)


def show_escaped(text: str) -> str:
    """Text in what a terminal can show; the colours that git writes stay."""
    parts = stdlib.re.split(r"(\x1b\[[0-9;]*m)", text)
    return "".join(part if n % 2 else printable(part) for n, part in enumerate(parts))


def write_records(records: Iterable[Record]) -> int:
    """Write records to standard output; OK."""
    record.write_records(sys.stdout.buffer, records)
    return OK


def read_width() -> int:
    """The width of the terminal that standard output is; 0 where it is none."""
    if not sys.stdout.isatty():
        return 0
    return stdlib.shutil.get_terminal_size().columns


def say(text: str) -> None:
    """Print lines of text, at a terminal folded between words."""
    if width := read_width():
        rows = (
            row for line in text.split("\n") for row in late.wrapping.wrap_line([(line, "")], width)
        )
        text = "\n".join(late.spans.list_texts(rows))
    print(text)


def ask_consent(question: str) -> bool:
    """Whether the person at the terminal says yes; True without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(printable(question).replace("\n", " "), "[Y/n] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def ask_line(question: str, *, lower: bool = True) -> str:
    """The line that the person types at the terminal, in lower case; '' at the end of input."""
    try:
        line = input(question).strip()
        return line.lower() if lower else line
    except EOFError:
        print()
        return ""


def ask_choice(question: str, words: Sequence[str]) -> str:
    """The one of words that the person types a prefix of; the first for Enter alone and without a
    terminal, the last for any other input."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return words[0]
    listed = "/".join(f"[{word[0]}]{word[1:]}" for word in words)
    print(printable(question).replace("\n", " "), listed, end=" ", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if answer == "\n":
        return words[0]
    given = answer.strip().lower()
    return next((word for word in words if given and word.startswith(given)), words[-1])


def needs_colour(stream: object, setting: str = "") -> bool:
    """Whether to colour what goes to stream: by setting (color.ui), else at a terminal.

    NO_COLOR and a terminal that is dumb speak against it.
    """
    tty = getattr(stream, "isatty", lambda: False)
    if setting.lower() == "always":
        return True
    if setting.lower() in ("never", "false", "no", "off") or os.environ.get("NO_COLOR"):
        return False
    return bool(tty()) and os.environ.get("TERM") != "dumb"
