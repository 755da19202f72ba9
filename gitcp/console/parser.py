"""Parse a command line by argparse, with usage and messages as git's."""

from __future__ import annotations

import argparse
import os
import sys

from gitcp import commands
from gitcp.console import options
from gitcp.errors import UsageError
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from gitcp.console.options import Rows


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError and accepts no abbreviations.

    name: of a command in the table of commands, which has its summary.
    """

    _width: int | None = 80  # while it is made; then None, that of the terminal

    def __init__(self, name: str, rows: Rows = ()) -> None:
        # A stage that has another name for people is called by the one that they typed.
        typed = os.path.basename(sys.argv[0]).removeprefix("gitcp-")
        called = typed if commands.ALIASES.get(name) == typed else name
        summary = commands.get_summary(called)
        text = f"{summary[0].upper()}{summary[1:]}."
        super().__init__(
            prog=f"gitcp-{called}",
            description=text,
            formatter_class=self._make_formatter,
            allow_abbrev=False,
        )
        self.set_defaults(error=self.error)
        self._rows = rows
        for row in rows:
            group = self.add_mutually_exclusive_group() if isinstance(row, list) else self
            for spellings, more in row if isinstance(row, list) else [row]:
                group.add_argument(*spellings, **more)
        self._width = None

    def _make_formatter(self, prog: str) -> argparse.HelpFormatter:
        # argparse checks each argument by one, which imports shutil if it has to ask for a width.
        return argparse.HelpFormatter(prog, width=self._width)

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
            known = [o for o in self._option_string_actions if o.startswith("--")]
            meant = options.suggest(more[0].partition("=")[0], known)
            self.error(f"unknown argument: '{more[0]}'{meant}")
        return parsed

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> object:
        values = super()._get_values(action, arg_strings)
        # Python 3.11 takes an argument '--' for the end of options, each time.
        return "--" if values == [] and action.nargs is None else values

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices if choice]
            raise argparse.ArgumentError(action, options.describe_unknown(str(value), names))

    def error(self, message: str) -> NoReturn:
        message = message.replace("ignored explicit argument", "takes no value, but has")
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")
