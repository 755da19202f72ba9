"""Print messages for the person on standard error, each once.

A store may lack many things.  What is of a kind is said at the end of a command, in one line.
"""

from __future__ import annotations

import sys

from gitcp import memory
from gitcp.errors import hide_passwords
from gitcp.start import late

_PRINTED: dict[str, bool] = memory.get_table("printed")  # message -> whether something is left out
_COLLECTED: dict[int, list[str]] = memory.get_table("collected")  # depth -> messages
_KINDS: dict[str, str] = memory.get_table("kinds of messages")  # message -> kind
_WAITS: dict[str, bool] = memory.get_table("messages wait")  # not empty: until the end

TRANSCRIPT, ABSENT, DAMAGED = "transcript", "absent", "damaged"  # kinds


class Collected:
    """In a `with`: the list that messages go to instead of standard error."""

    def __enter__(self) -> list[str]:
        return _COLLECTED.setdefault(len(_COLLECTED), [])

    def __exit__(self, *_: object) -> None:
        _COLLECTED.popitem()


def warn_lacking(message: str, kind: str = "") -> None:
    """Print a warning once; the output is incomplete, so that the status becomes NO.

    kind: of what is lacking; after wait_for_end() the caller of list_lacking() prints it.
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


def list_lacking() -> dict[str, list[str]]:
    """Kind -> the messages of this process that waited for its end."""
    lacking: dict[str, list[str]] = {}
    for message, kind in _KINDS.items() if _WAITS else ():
        if _PRINTED.get(message):
            lacking.setdefault(kind, []).append(message)
    return lacking


def warn(message: str) -> None:
    """Print a warning once; the output is complete."""
    if _COLLECTED:
        _COLLECTED[len(_COLLECTED) - 1].append(message)
    elif message not in _PRINTED:
        _PRINTED[message] = False
        print(
            "warning:",
            escape_unprintable(hide_passwords(message)).replace("\n", " "),
            file=sys.stderr,
        )


def tell(message: str) -> None:
    """Print what the command does, unless messages are collected."""
    if not _COLLECTED:
        print(escape_unprintable(hide_passwords(message)), file=sys.stderr)


def mute(message: str) -> None:
    """Keep warn_lacking() from printing this message, which the person gets in another way."""
    _PRINTED[message] = True


def is_incomplete() -> bool:
    """Whether anything was left out in this process."""
    return any(_PRINTED.values())


def escape_unprintable(message: str) -> str:
    """spans.escape(), whose module is imported for the few messages that need it."""
    plain = message.replace("\n", "").replace("\t", "")  # they stay
    return message if plain.isprintable() else late.spans.escape(message)
