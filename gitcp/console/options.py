"""Define the options and arguments of commands as data for parser, help and completion."""

from __future__ import annotations

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Row = tuple[tuple[str, ...], dict[str, Any]]  # the names; what argparse is told of them
    Rows = Sequence[Row | list[Row]]  # those in a list exclude each other


def make_flag(spellings: str, text: str) -> Row:
    """An option without a value; text: its help."""
    return tuple(spellings.split()), {"action": "store_true", "help": text}


def make_value(spellings: str, metavar: str, text: str, **more: Any) -> Row:
    """An option with a value, or an argument where names begins with no dash."""
    return tuple(spellings.split()), {"metavar": metavar, "help": text, **more}


def make_nul(key: str, text: str) -> Row:
    """The option -z: print the value of key of each record, ended by NUL."""
    return ("-z",), {"action": "store_const", "const": key, "help": text}


JSON = make_flag("--json", "write records, one to a line")
OFFLINE = make_flag("--offline", "ask no remote: only what is here")
REVISIONS = make_value("revision", "<revision>", "as in git-log(1) (default: HEAD)", nargs="*")


def parse_number(text: str, least: int = 0) -> int:
    """The type of an argument that is a whole number, least or more."""
    if text.isascii() and text.isdecimal() and int(text) >= least:
        return int(text)
    raise stdlib.argparse.ArgumentTypeError(f"not a {'positive ' if least else ''}number: '{text}'")


def parse_positive(text: str) -> int:
    """The type of an argument that is a number of things, of which there is at least one."""
    return parse_number(text, 1)


def is_needed(row: Row | list[Row]) -> bool:
    """Whether a command line without this argument is a mistake."""
    if isinstance(row, list):
        return False
    names, more = row
    optional = names[0].startswith("-") or more.get("nargs") in ("?", "*")
    return bool(more.get("required", not optional))


def format_usage(row: Row | list[Row]) -> list[str]:
    """A row as a usage line has it, in the words between which that may be folded."""
    if not isinstance(row, list):
        return [_format_form(row) if is_needed(row) else f"[{_format_form(row)}]"]
    parts = [_format_form(one) for one in row]
    parts[0], parts[-1] = f"[{parts[0]}", f"{parts[-1]}]"
    return [parts[0], *(f"| {one}" for one in parts[1:])]


def _format_form(row: Row) -> str:
    """An option with the name of its value; an argument, as often as it may be there."""
    names, more = row
    value, often = str(more.get("metavar", "")), more.get("nargs")
    if names[0].startswith("-"):
        return f"{names[0]} {value}".rstrip()
    forms = {"*": f"{value} ...", "...": f"{value} ...", "+": f"{value} [{value} ...]"}
    return forms.get(str(often), value)


def list_defaults(rows: Rows) -> dict[str, Any]:
    """The arguments of an empty command line, as argparse has them."""
    flat = [one for row in rows for one in (row if isinstance(row, list) else [row])]
    return {_name_attribute(*row): row[1].get("default", _get_empty(row[1])) for row in flat}


def _name_attribute(spellings: tuple[str, ...], more: dict[str, Any]) -> str:
    longest = next((name for name in spellings if name.startswith("--")), spellings[0])
    return str(more.get("dest", longest.lstrip("-").replace("-", "_")))


def _get_empty(more: dict[str, Any]) -> object:
    if more.get("nargs") == "*":
        return []
    return False if more.get("action") == "store_true" else None
