"""Print messages for the person on standard error, each once."""

from __future__ import annotations

import sys

from gitcp import memory

_PLAIN = "\n\t\u200c\u200d"  # the joiners hold emoji and scripts together, and drive nothing
_PRINTED: dict[str, bool] = memory.get_table("printed")  # message -> whether something is left out
_COLLECTED: dict[int, list[str]] = memory.get_table("collected")  # depth -> messages


class Collected:
    """In a `with`: the list that messages go to instead of standard error."""

    def __enter__(self) -> list[str]:
        return _COLLECTED.setdefault(len(_COLLECTED), [])

    def __exit__(self, *_: object) -> None:
        _COLLECTED.popitem()


def warn_lacking(what: str) -> None:
    """Print once that something could not be read."""
    warn(what)
    if not _COLLECTED:
        _PRINTED[what] = True


def warn(what: str) -> None:
    """Print a warning once; the output is complete."""
    if _COLLECTED:
        _COLLECTED[len(_COLLECTED) - 1].append(what)
    elif what not in _PRINTED:
        _PRINTED[what] = False
        print("warning:", escape_unprintable(what).replace("\n", " "), file=sys.stderr)


def tell(what: str) -> None:
    """Print what the command does, unless messages are collected."""
    if not _COLLECTED:
        print(escape_unprintable(what), file=sys.stderr)


def mute(what: str) -> None:
    """Keep warn_lacking() from printing this message, which the person gets in another way."""
    _PRINTED[what] = True


def is_incomplete() -> bool:
    """Whether anything was left out in this process."""
    return any(_PRINTED.values())


def escape_unprintable(message: str) -> str:
    """A message with what no terminal can show, or should obey, escaped; bytes of a name that are
    no UTF-8 as the bytes they are."""
    if message.isprintable():
        return message
    return "".join(c if c.isprintable() or c in _PLAIN else _escape_character(c) for c in message)


def _escape_character(c: str) -> str:
    code = ord(c) - 0xDC00 if "\udc80" <= c <= "\udcff" else ord(c)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def show_progress(text: str) -> None:
    """One line on a terminal that is written over; '' takes it away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
