"""Lines as spans of text with a colour, and the formats of small texts in them.

Text from data is always the text of a span, so that all of it is escaped when it is drawn.  What
measures a text escapes it first.
"""

from __future__ import annotations

import re
from unicodedata import combining, east_asian_width

from gitcp import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    Row = TypeVar("Row")
    Line = list[tuple[str, str]]  # text, colour ('' for none) as term.paint knows it
    Ink = Callable[[str, str], str]
    Ago = Callable[[float], str]  # seconds since 1970 -> `5m ago`

_JOINER = "\u200d"
_AS_EMOJI = "\ufe0f"
_JOINERS = f"\u200c{_JOINER}"  # they take no cell, and join emoji and letters
_MODIFIERS = frozenset(f"\ufe0e{_AS_EMOJI}\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
AUTHORS = {"agent": "agents", "person": "people", "unknown": "unknown", "unrecorded": "unrecorded"}
_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k"))


DIGITS = 8  # of an id that is shown, a commit's as a session's
# How many digits of a commit git shows: "ask", a function that asks git, and "digits", its answer.
_ABBREVIATION: dict[str, Any] = memory.get_table("abbreviation")


def set_digits(ask: Callable[[], int]) -> None:
    """Let abbreviate() ask for the number of digits, when the first commit is shown."""
    _ABBREVIATION["ask"] = ask


def abbreviate(oid: str) -> str:
    """The id of a commit: DIGITS digits, more where git shows more."""
    return oid[: max(DIGITS, count_gits_digits())]


def count_gits_digits() -> int:
    """The digits of a commit that git shows; 7 where nothing is known of git."""
    if "digits" not in _ABBREVIATION:
        if "ask" in _ABBREVIATION:
            _ABBREVIATION["digits"] = _ABBREVIATION["ask"]()
        else:
            _ABBREVIATION["digits"] = 7
    return int(_ABBREVIATION["digits"])


def paint_lines(lines: Iterable[Line], ink: Ink) -> Iterator[str]:
    """The text of each line; ink(text, colour) escapes control characters and paints."""
    for line in lines:
        yield "".join([ink(text, colour) for text, colour in line]) + "\n"


def list_texts(lines: Iterable[Line]) -> Iterator[str]:
    """The text of each line, unchanged."""
    for line in lines:
        yield "".join([text for text, _ in line])


def escape(text: str) -> str:
    """text with control and unprintable characters escaped, but for newlines and tabs; surrogates,
    which stand for bytes that are not UTF-8, as these bytes."""
    if text.isprintable():
        return text
    plain = f"\n\t{_JOINERS}"
    return "".join(c if c.isprintable() or c in plain else _escape_character(c) for c in text)


def _escape_character(c: str) -> str:
    if "\udc80" <= c <= "\udcff":
        code = ord(c) - 0xDC00
    else:
        code = ord(c)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"


def escape_part(part: str) -> str:
    """A part of a line with unprintable characters and newlines escaped."""
    if part.isprintable():
        return part
    return escape(part).replace("\n", "\\n")


def join_words(text: str) -> str:
    """text on one line, with one space between words, escaped."""
    return escape(" ".join(text.split()))


def shorten(text: str, size: int) -> str:
    """join_words() in at most size cells of a terminal, `…` in place of what is cut off.

    An emoji of several characters, or a letter with its accents, is not cut.
    """
    line = join_words(text)
    if len(line) * 2 <= size or count_cells(line) <= size:
        return line
    return clip(line, max(0, size - 1))[0].rstrip() + "…"


def count_cells(text: str) -> int:
    """The number of cells that an escaped text on one line takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(wide for _, wide in _split_signs(text))


def pad(text: str, size: int) -> str:
    """shorten(text, size), with spaces up to size cells."""
    line = shorten(text, size)
    return line + " " * (size - count_cells(line))


def clip(text: str, size: int) -> tuple[str, int]:
    """(the longest beginning of an escaped text that fits in so many cells, its cells)."""
    if text.isascii():
        return text[:size], min(len(text), size)
    fitted = ""
    taken = 0
    for sign, cells in _split_signs(text):
        if taken + cells > size:
            break
        fitted = fitted + sign
        taken = taken + cells
    return fitted, taken


def _split_signs(line: str) -> Iterator[tuple[str, int]]:
    """Each sign of a line with its cells: two for wide characters and emoji."""
    sign = ""
    taken = 0
    for c in line:
        joined = sign.endswith(_JOINER) or c in _JOINERS or combining(c) or c in _MODIFIERS
        if sign and not joined:
            yield sign, taken
            sign = ""
            taken = 0
        wide = 1
        if east_asian_width(c) in "WF" or c == _AS_EMOJI:
            wide = 2
        sign = sign + c
        taken = max(taken, wide)
    if sign:
        yield sign, taken


def split_rows(text: str) -> list[str]:
    """The lines of a text, without the carriage return that may be part of their end."""
    return [row.removesuffix("\r") for row in text.split("\n")]


def cut_rows(rows: Sequence[Row], most: int, make_last: Callable[[int], Row]) -> list[Row]:
    """The first rows, and in place of several others one that make_last() makes of their number."""
    others = len(rows) - most
    if others <= 1:
        return [*rows]
    return [*rows[:most], make_last(others)]


def count_noun(count: int, word: str) -> str:
    """A count with its noun: `1 file`, `2 files`."""
    if count == 1:
        return f"{count} {word}"
    return f"{count} {word}s"


def format_number(count: int) -> str:
    """A count in at most four characters and a unit: 950, 1.2k, 34k, 5.6M."""
    for size, unit in _UNITS:
        if count >= size:
            value = count / size
            if value < 9.95:
                return f"{value:.1f}{unit}"
            return f"{value:.0f}{unit}"
    return str(count)


def quote_code(line: str) -> str:
    """A line as a code span of Markdown, in a fence longer than any in it."""
    fence = "`"
    while fence in line:
        fence += "`"
    edge = ""
    if line.startswith("`") or line.endswith("`"):
        edge = " "
    return f"{fence}{edge}{line}{edge}{fence}"


# Fit text to a width, and wrap it between words.
_INDENT = 2
_LONG = 10  # cells of a word that may be cut
_WORDS = r"\s*\S+|\s+$"
COMMAND = "command"  # the colour of a part that is copied into a shell


def fit_words(text: str, size: int) -> str:
    """text on one line in at most size cells, `…` in place of words that are left out; a word is
    cut only if it is the first, or long, as a path is."""
    line = join_words(text)
    cut = shorten(text, size)
    if cut == line:
        return line
    fitted = cut.removesuffix("…")
    if line[len(fitted)] != " " and " " in fitted:
        whole, _, part = fitted.rpartition(" ")
        fitted = whole if count_cells(part) < _LONG else fitted
    return fitted.rstrip() + "…"


def wrap_line(line: Line, size: int) -> Iterator[Line]:
    """A line in rows of at most size cells, those after the first indented more than that.

    A row ends between words; only a word that is longer than a row is cut.  A line with a command
    stays whole: the first row of it would be another command.
    """
    line = [(escape_part(text).expandtabs(4), colour) for text, colour in line]
    whole = any(colour == COMMAND for _, colour in line)
    if whole or sum(count_cells(text) for text, _ in line) <= size:
        yield line
        return
    start = "".join(text for text, _ in line)
    indent = min(len(start) - len(start.lstrip(" ")) + _INDENT, size // 2)
    row: Line = []
    taken = margin = 0
    for text, colour in line:
        for word in re.findall(_WORDS, text):
            part = word
            if taken > margin and taken + count_cells(part) > size:
                last, last_colour = row[-1]
                yield [*row[:-1], (last.rstrip(), last_colour)]
                row = [(" " * indent, "")]
                part = part.lstrip()
                taken = margin = indent
            while taken + count_cells(part) > size:
                begin, _ = clip(part, size - taken)
                yield [*row, (begin, colour)]
                row = [(" " * indent, "")]
                part = part[len(begin) :]
                taken = margin = indent
            row.append((part, colour))
            taken += count_cells(part)
    yield row
