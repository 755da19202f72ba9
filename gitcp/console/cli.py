"""Parse command lines and write output, for all commands."""

from __future__ import annotations

import os
import sys

from gitcp import record
from gitcp.console import ending, notice, parser
from gitcp.errors import OK
from gitcp.start import late, stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from gitcp.console.options import Rows
    from gitcp.core.record_types import Record

printable, guard = notice.escape_unprintable, ending.run_guarded


def parse(name: str, rows: Rows, argv: Sequence[str]) -> Namespace:
    """The arguments of a command by its rows, with the function `error`, which raises UsageError
    with a message and the usage line."""
    return parser.Parser(name, rows).parse_args(argv)


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
