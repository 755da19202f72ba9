"""Parse command lines, with usage as git's, and write output, for all commands."""

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

_READABLE = 30  # choices that a message lists


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError and accepts no abbreviations.

    name: of a command in the table of commands, which has its summary.
    """

    def __init__(self, name: str, rows: Rows = ()) -> None:
        # A stage that has another name for people is called by the one that they typed.
        typed = os.path.basename(sys.argv[0]).removeprefix("gitcp-")
        called = typed if commands.ALIASES.get(name) == typed else name
        summary = commands.get_summary(called)
        text = f"{summary[0].upper()}{summary[1:]}."
        super().__init__(prog=f"gitcp-{called}", description=text, allow_abbrev=False)
        self.set_defaults(error=self.error)
        self._rows = rows
        for row in rows:
            group = self.add_mutually_exclusive_group() if isinstance(row, list) else self
            for spellings, more in row if isinstance(row, list) else [row]:
                group.add_argument(*spellings, **more)

    def format_usage(self) -> str:
        """The usage, folded between options; versions of argparse fold it differently."""
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
        """The parsed arguments; the error about an unknown one suggests an option."""
        parsed, more = self.parse_known_args(args, namespace)
        if more:
            options = [o for o in self._option_string_actions if o.startswith("--")]
            meant = suggest(more[0].partition("=")[0], options)
            self.error(f"unknown argument: '{more[0]}'{meant}")
        return parsed

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        values = super()._get_values(action, arg_strings)
        # Python 3.11 takes an argument '--' for the end of options, each time.
        return "--" if values == [] and action.nargs is None else values

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices if choice]
            raise argparse.ArgumentError(action, describe_unknown(str(value), names))

    def error(self, message: str) -> NoReturn:
        message = message.replace("ignored explicit argument", "takes no value, but has")
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


def describe_unknown(value: str, choices: Sequence[str]) -> str:
    """The message about an unknown value; it lists no more choices than a person reads."""
    every = f"; it is one of {', '.join(choices)}" if len(choices) <= _READABLE else ""
    meant = suggest(value, choices) or every
    return f"unknown value '{value}'{meant}"


def suggest(word: str, choices: Sequence[str]) -> str:
    """'; did you mean …?' with up to three choices that resemble word or begin with it, else ''."""
    if not word.strip("-"):
        return ""
    near = stdlib.difflib.get_close_matches(word, choices, 3, 0.6)
    near = near or [k for k in choices if k.startswith(word)][:3]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def parse(name: str, rows: Rows, argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command by its rows, with the function `error`, which raises UsageError
    with a message and the usage line."""
    return Parser(name, rows).parse_args(argv)


def write_bytes(parts: Iterable[bytes]) -> None:
    """Write data to standard output, byte for byte; escaped at a terminal."""
    if sys.stdout.isatty():
        parts = (show_escaped(record.decode_name(part)).encode() for part in parts)
    sys.stdout.buffer.writelines(parts)


def show_escaped(text: str) -> str:
    """Text with unprintable characters escaped, but not the colours that git writes."""
    parts = stdlib.re.split(r"(\x1b\[[0-9;]*m)", text)
    return "".join(part if n % 2 else printable(part) for n, part in enumerate(parts))


def write_records(records: Iterable[Record]) -> int:
    """Write records to standard output; return OK."""
    record.write_records(sys.stdout.buffer, records)
    return OK


def read_width() -> int:
    """The width of the terminal; 0 if standard output is none."""
    return stdlib.shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def show(*lines: str) -> None:
    """Print lines, their unprintable characters escaped."""
    for line in lines:
        print(printable(line))


def show_whole(*lines: str) -> None:
    """Print lines as show() does, their line breaks escaped as well."""
    for line in lines:
        print(late.spans.escape_part(line))


def say(text: str) -> None:
    """Print lines of text, at a terminal folded between words."""
    if width := read_width():
        wrap = late.wrapping.wrap_line
        rows = (row for line in text.split("\n") for row in wrap([(line, "")], width))
        text = "\n".join(late.spans.list_texts(rows))
    print(text)


def ask_consent(question: str) -> bool:
    """Whether the person at the terminal says yes; True without a terminal."""
    return _ask(question, "[Y/n]", default="y").strip().lower() in ("", "y", "yes")


def _ask(question: str, answers: str, default: str) -> str:
    """The line that the person types as an answer, with its newline; default without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return default
    print(printable(question).replace("\n", " "), answers, end=" ", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def ask_line(question: str, *, lower: bool = True) -> str:
    """The line that the person types at the terminal, in lower case; '' at the end of input."""
    try:
        line = input(question).strip()
        return line.lower() if lower else line
    except EOFError:
        print()
        return ""


def ask_choice(question: str, words: Sequence[str]) -> str:
    """The word that the person types a prefix of; the first for Enter alone and without a terminal,
    the last for any other input."""
    listed = "/".join(f"[{word[0]}]{word[1:]}" for word in words)
    answer = _ask(question, listed, default="\n")
    if answer == "\n":
        return words[0]
    prefix = answer.strip().lower()
    return next((word for word in words if prefix and word.startswith(prefix)), words[-1])


def needs_colour(stream: object, setting: str = "") -> bool:
    """Whether to colour output to stream: by setting (color.ui), else at a terminal that is not
    dumb, without NO_COLOR."""
    if setting.lower() == "always":
        return True
    if setting.lower() in ("never", "false", "no", "off") or os.environ.get("NO_COLOR"):
        return False
    is_terminal = getattr(stream, "isatty", lambda: False)
    return bool(is_terminal()) and os.environ.get("TERM") != "dumb"
