"""Define the options and arguments of commands as data for parser, help and completion."""

from __future__ import annotations

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Row = tuple[tuple[str, ...], dict[str, Any]]  # the spellings; the arguments for argparse
    Rows = Sequence[Row | list[Row]]  # the rows of a list exclude each other


def make_flag(spellings: str, text: str) -> Row:
    """An option without a value; text: its help."""
    return tuple(spellings.split()), {"action": "store_true", "help": text}


def make_value(spellings: str, metavar: str, text: str, **more: Any) -> Row:
    """An option with a value, or an argument if the spelling begins with no dash."""
    return tuple(spellings.split()), {"metavar": metavar, "help": text, **more}


def make_nul(key: str, text: str) -> Row:
    """The option -z: print the value of key of each record, ended by NUL."""
    return ("-z",), {"action": "store_const", "const": key, "help": text}


_READABLE = 30  # choices that a message lists
JSON = make_flag("--json", "write records, one to a line")
OFFLINE = make_flag("--offline", "ask no remote")
REVISIONS = make_value("revision", "<revision>", "as in git-log(1) (default: HEAD)", nargs="*")


def parse_number(text: str, least: int = 0) -> int:
    """The type of an argument that is a whole number, least or more."""
    if text.isascii() and text.isdecimal() and int(text) >= least:
        return int(text)
    raise stdlib.argparse.ArgumentTypeError(f"not a {'positive ' if least else ''}number: '{text}'")


def parse_positive(text: str) -> int:
    """The type of an argument that is a positive number."""
    return parse_number(text, 1)


def is_needed(row: Row | list[Row]) -> bool:
    """Whether a command line without this argument is a mistake."""
    if isinstance(row, list):
        return False
    names, more = row
    optional = names[0].startswith("-") or more.get("nargs") in ("?", "*")
    return bool(more.get("required", not optional))


def format_usage(row: Row | list[Row]) -> list[str]:
    """A row in a usage line, as the parts between which the line may be folded."""
    if not isinstance(row, list):
        return [_format_form(row) if is_needed(row) else f"[{_format_form(row)}]"]
    first, *alternatives = map(_format_form, row)
    parts = [f"[{first}", *(f"| {form}" for form in alternatives)]
    parts[-1] += "]"
    return parts


def _format_form(row: Row) -> str:
    """An option with the name of its value; an argument with the signs for its repetition."""
    spellings, more = row
    value, repeated = str(more.get("metavar", "")), str(more.get("nargs"))
    if spellings[0].startswith("-"):
        return f"{spellings[0]} {value}".rstrip()
    forms = {"*": f"{value} ...", "...": f"{value} ...", "+": f"{value} [{value} ...]"}
    return forms.get(repeated, value)


def flatten_rows(rows: Rows) -> list[Row]:
    """All rows, with those of lists."""
    return [row for group in rows for row in (group if isinstance(group, list) else [group])]


def list_defaults(rows: Rows) -> dict[str, Any]:
    """The arguments of an empty command line, as argparse has them."""
    defaults = {}
    for spellings, more in flatten_rows(rows):
        longest = next((name for name in spellings if name.startswith("--")), spellings[0])
        empty = [] if more.get("nargs") == "*" else more.get("action") != "store_true" and None
        key = more.get("dest", longest.lstrip("-").replace("-", "_"))
        defaults[key] = more.get("default", empty)
    return defaults


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
