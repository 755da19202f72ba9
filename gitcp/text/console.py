"""Messages for the person, and words and numbers of a command line as data."""

from __future__ import annotations

import sys

from gitcp import memory
from gitcp.errors import hide_passwords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_READABLE = 30  # choices that a message lists


def parse_number(text: str, least: int = 0) -> int:
    """The type of an argument that is a whole number, least or more."""
    if text.isascii() and text.isdecimal() and int(text) >= least:
        return int(text)
    import argparse

    raise argparse.ArgumentTypeError(f"not a {'positive ' if least else ''}number: '{text}'")


def parse_positive(text: str) -> int:
    """The type of an argument that is a positive number."""
    return parse_number(text, 1)


def describe_unknown(what: str, value: str, choices: Sequence[str], lists: str = "") -> str:
    """The message about an unknown value, what saying of which kind; lists: the command that lists
    the choices, '' to list them here, but no more than a person reads."""
    among = "it can only be"
    if len(choices) > 1:
        among = "it is one of"
    listing = ""
    if len(choices) <= _READABLE:
        listing = f"; {among} {', '.join(choices)}"
    meant = suggest(value, choices) or (f"; '{lists}' lists those known" if lists else listing)
    return f"unknown {what} '{value}'{meant}"


def suggest(word: str, choices: Sequence[str]) -> str:
    """'; did you mean …?' with up to three choices that differ from word in a sign or two, or begin
    with it, else ''."""
    bare = word.strip("-")
    if not bare:
        return ""
    most = 1 if len(bare) <= _SHORT else 2
    near: list[tuple[int, int]] = []  # distance, number of the choice
    for number, choice in enumerate(choices):
        distance = _count_slips(word, choice, most)
        if distance <= most:
            near.append((distance, number))
    similar = [choices[number] for _, number in sorted(near)]
    if not similar:
        similar = [choice for choice in choices if choice.startswith(word)]
    if similar:
        return f"; did you mean {' or '.join(repr(n) for n in similar[:3])}?"
    return ""


_SHORT = 3  # signs of a word of which one may be wrong, of others two


def _count_slips(word: str, meant: str, most: int) -> int:
    """How many signs are missing, too many, wrong or swapped with the next; more than most as
    soon as that is certain."""
    if abs(len(word) - len(meant)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, sign in enumerate(word, 1):
        earlier = before
        before = row
        row = [i]
        for j, other in enumerate(meant, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (sign != other))
            is_swap = i > 1 and j > 1 and sign == meant[j - 2] and word[i - 2] == other
            if is_swap:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]


# Print messages for the person on standard error, each once.
#
# A store may lack many things.  What is of a kind is said at the end of a command, in one line.
_PRINTED: dict[str, bool] = memory.get_table("printed")  # message -> whether something is left out
_COLLECTED: dict[int, list[str]] = memory.get_table("collected")  # depth -> messages
_KINDS: dict[str, str] = memory.get_table("kinds of messages")  # message -> kind
_WAITS: dict[str, bool] = memory.get_table("messages wait")  # not empty: until the end
# The kinds.
TRANSCRIPT = "transcript"
ABSENT = "absent"
DAMAGED = "damaged"
CONTENT = "content"
HISTORY = "history"


class Collected:
    """In a `with`: the list that messages go to instead of standard error."""

    def __enter__(self) -> list[str]:
        return _COLLECTED.setdefault(len(_COLLECTED), [])

    def __exit__(self, *_: object) -> None:
        _COLLECTED.popitem()


def warn_lacking(message: str, kind: str = "") -> None:
    """Print a warning once; the output is incomplete, so that the status becomes NO.

    kind: of what is lacking; after wait_for_end() the caller of take_lacking() prints it.
    """
    if kind:
        _KINDS[message] = kind
    if not (kind and _WAITS) or _COLLECTED:
        warn(message)
    if not _COLLECTED:
        _PRINTED[message] = True


def wait_for_end() -> None:
    """Print no message that has a kind until the end of the command."""
    _WAITS["end"] = True


def get_kind(message: str) -> str:
    """The kind of a message that was collected; "" if it has none."""
    return _KINDS.get(message, "")


def list_lacking() -> dict[str, str]:
    """The messages of this process that have a kind, with their kinds, until take_lacking()."""
    return dict(_KINDS)


def take_lacking() -> dict[str, list[str]]:
    """Kind -> the messages of this process that waited for its end; each is given once."""
    lacking: dict[str, list[str]] = {}
    if _WAITS:
        for message, kind in list(_KINDS.items()):
            if _PRINTED.get(message):
                lacking.setdefault(kind, []).append(message)
                del _KINDS[message]
    return lacking


def warn(message: str) -> None:
    """Print a warning once; the output is complete."""
    if _COLLECTED:
        _COLLECTED[len(_COLLECTED) - 1].append(message)
    elif message not in _PRINTED:
        _PRINTED[message] = False
        hide_progress()
        print(
            "warning:",
            escape_unprintable(hide_passwords(message)).replace("\n", " "),
            file=sys.stderr,
        )


def tell(message: str) -> None:
    """Print what the command does, unless messages are collected."""
    if not _COLLECTED:
        hide_progress()
        print(escape_unprintable(hide_passwords(message)), file=sys.stderr)


def hide_progress() -> None:
    """Remove the line of progress, if there is one."""
    if "line" in memory.get_table("progress"):
        from gitcp.text import term

        term.hide_progress()


def mute(message: str) -> None:
    """Keep warn_lacking() from printing this message, which the person gets in another way."""
    _PRINTED[message] = True


def is_incomplete() -> bool:
    """Whether anything was left out in this process."""
    return any(_PRINTED.values())


def escape_unprintable(message: str) -> str:
    """spans.escape(), whose module is imported for the few messages that need it."""
    plain = message.replace("\n", "").replace("\t", "")  # they stay
    if plain.isprintable():
        return message

    from gitcp.text import spans

    return spans.escape(message)
