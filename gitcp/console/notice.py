"""What a command had to leave out: said once on standard error, and its status tells it."""

from __future__ import annotations

import sys

_PLAIN = "\n\t\u200c\u200d"  # the joiners hold emoji and scripts together, and drive nothing
_PRINTED: dict[str, None] = {}
_ASIDE: list[list[str]] = []


class Aside:
    """What cannot be read meanwhile is told elsewhere: it is listed, and not said."""

    def __enter__(self) -> list[str]:
        _ASIDE.append([])
        return _ASIDE[-1]

    def __exit__(self, *_: object) -> None:
        _ASIDE.pop()


def lack(what: str) -> None:
    """Say that something could not be read, and what that is; a second time it is silent."""
    if _ASIDE:
        _ASIDE[-1].append(what)
    elif what not in _PRINTED:
        _PRINTED[what] = None
        print("warning:", printable(what).replace("\n", " "), file=sys.stderr)


def warn(message: str) -> None:
    """Say a warning, in what a terminal can show."""
    print("warning:", printable(message), file=sys.stderr)


def mute(what: str) -> None:
    """A person hears of this in another way: lack() is silent about it."""
    _PRINTED[what] = None


def incomplete() -> bool:
    """Whether anything was left out in this process."""
    return bool(_PRINTED)


def printable(message: str) -> str:
    """A message with what no terminal can show, or should obey, escaped; bytes of a name that are
    no UTF-8 as the bytes they are."""
    if message.isprintable():
        return message
    return "".join(c if c.isprintable() or c in _PLAIN else _escaped(c) for c in message)


def _escaped(c: str) -> str:
    code = ord(c) - 0xDC00 if "\udc80" <= c <= "\udcff" else ord(c)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def progress(text: str) -> None:
    """One line on a terminal that is written over; '' takes it away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
