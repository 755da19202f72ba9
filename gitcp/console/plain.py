"""Read a command line without mistakes, as argparse does, which takes longer to import than most
commands to run."""

from __future__ import annotations

from gitcp.console.options import find_key, flatten_rows, is_needed, list_defaults
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.console.options import Row, Rows


class Arguments:
    """The arguments of a command line, each an attribute."""


def parse(rows: Rows, argv: Sequence[str]) -> Arguments | None:
    """The arguments of a command by its rows; None if argparse has to read the line: for a mistake,
    for help, and for the rarer ways to write an argument."""
    args, values = Arguments(), list_defaults(rows)
    given: dict[str, Any] = {}
    try:
        for row, value in _list_given(rows, argv):
            key, more = find_key(row), row[1]
            more_of = more.get("action") == "append"
            given[key] = [*(given.get(key) or values[key] or ()), value] if more_of else value
    except (LookupError, TypeError, ValueError, stdlib.argparse.ArgumentTypeError):
        return None
    for group in rows:
        keys = [find_key(row) for row in flatten_rows([group])]
        if not is_needed(group) <= sum(key in given for key in keys) <= 1:
            return None
    vars(args).update(values, **given)
    return args


def _list_given(rows: Rows, argv: Sequence[str]) -> Iterator[tuple[Row, Any]]:
    """Yield (row, value) for each option and argument of a line; raises an error that parse()
    expects."""
    table = {name: row for row in flatten_rows(rows) for name in row[0]}
    words: list[str] = []
    ended, left = False, iter(argv)
    for word in left:
        if word[:1] == "-":
            row, value = _split_option(word, table)
            ended = bool(words)
            yield row, _read_option(row[1], value, left)
        elif ended:
            raise ValueError("argparse refuses arguments around an option")
        else:
            words.append(word)
    yield from _share_words([row for row in flatten_rows(rows) if row[0][0][0] != "-"], words)


def _split_option(word: str, table: Mapping[str, Row]) -> tuple[Row, str | None]:
    """(the row of an option, the value that is written with it)."""
    name, equals, value = word.partition("=")
    if name in table:
        return table[name], value if equals else None
    return table[word[:2]], word[2:]


def _read_option(more: Mapping[str, Any], value: str | None, left: Iterator[str]) -> Any:
    """The value of an option, from the word after it if none is written with it."""
    action = more.get("action", "append")
    if action != "append":
        if value is not None:
            raise ValueError("it takes no value")
        return more.get("const", True)
    if "nargs" in more:
        raise ValueError("argparse counts its values")
    if value is None:
        value = next(left, "-")
        if value[:1] == "-":
            raise ValueError("it has no value, or one that begins with a dash")
    return _convert(more, value)


def _share_words(rows: Sequence[Row], words: list[str]) -> Iterator[tuple[Row, Any]]:
    """Yield (row, value) of the arguments, the first of which takes as much as it can."""
    spare = len(words) - sum(map(is_needed, rows))
    for row in rows:
        most = {None: 1, "?": 1, "*": len(words), "+": len(words)}[row[1].get("nargs")]
        count = min(most, is_needed(row) + spare)
        taken, words = words[:count], words[count:]
        spare -= count - is_needed(row)
        values = [_convert(row[1], word) for word in taken]
        if values:
            yield row, values if row[1].get("nargs") in ("*", "+") else values[0]
    if words or spare < 0:
        raise ValueError("too few arguments, or too many")


def _convert(more: Mapping[str, Any], text: str) -> Any:
    value = more["type"](text) if "type" in more else text
    if "choices" in more and value not in more["choices"]:
        raise ValueError("it is none of the choices")
    return value
