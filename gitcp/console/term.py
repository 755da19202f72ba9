"""Format text for a terminal: colours, ages, times, single lines."""

from __future__ import annotations

import os
import signal
import sys
import time
from shutil import which

from gitcp import memory
from gitcp.errors import OK, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")
_CODES = {"bold": 1, "dim": 2} | {name: 31 + n for n, name in enumerate(_COLOURS)}
_AGES = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))


def paint(text: str, colour: str) -> str:
    """text in a colour of _CODES."""
    return f"\033[{_CODES[colour]}m{text}\033[0m" if text else text


def format_age(seconds: float) -> str:
    """An age in its largest unit: `just now`, `5m ago`, `3h ago`, `2d ago`, `4mo ago`."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def format_since(then: float) -> str:
    """The age of a time in seconds since 1970; `never` for 0."""
    return format_age(time.time() - then) if then else "never"


def format_time(seconds: float) -> str:
    """A local time, as in `2026-11-22 09:30`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


# Show the progress of a long task in a line on standard error, if it is a terminal.
_PATIENCE, _PAUSE = 1, 0.1  # seconds before anything is shown, and between two showings
_CLEAR = "\r\033[K"
_SHOWING: dict[str, str] = memory.get_table("progress")  # the line on the terminal


def iterate_shown(title: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items, one by one, while a Counter shows how many were used."""
    counter = Counter(title)
    for number, item in enumerate(items):
        counter.show(number, len(items))
        yield item
    hide_progress()


class Counter:
    """Shows `title: 34 % (12/35)` at a terminal, from a second after it is made, or
    GIT_PROGRESS_DELAY seconds, as git does."""

    def __init__(self, title: str) -> None:
        self._title = title
        delay = os.environ.get("GIT_PROGRESS_DELAY", "")
        seconds = int(delay) if delay.isdecimal() else _PATIENCE
        self._due = time.monotonic() + seconds if sys.stderr.isatty() else float("inf")

    def show(self, done: int, every: int) -> None:
        """Show the progress, unless it was shown just before; remove it at the end."""
        if done >= every:
            hide_progress()
        elif time.monotonic() > self._due:
            self._due = time.monotonic() + _PAUSE
            show_line(f"{self._title}: {done * 100 // every} % ({done}/{every})")


def show_line(text: str) -> None:
    """Replace the line of progress, if there is a terminal."""
    if sys.stderr.isatty():
        _SHOWING["line"] = text
        print(_CLEAR, text, sep="", end="", file=sys.stderr, flush=True)


def hide_progress() -> None:
    """Remove the line, before other output takes its place."""
    if _SHOWING:
        _SHOWING.clear()
        print(_CLEAR, end="", file=sys.stderr, flush=True)


# Run a program in the foreground, with the terminal, and wait for it.
_KEYS = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends them to the program as well
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def run_foreground(words: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program with this process's streams to its end; return its status, or 128 plus the
    signal that ended it.

    Signals of the keyboard reach the program itself; others are passed on to it.  Raise Error if
    there is no such program.
    """
    # A signal that comes before the program starts waits for it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _KEYS}
    try:
        reset = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        pid = os.posix_spawnp(words[0], list(words), dict(env), setsigdef=reset, setsigmask=mask)
        for number in _PASSED_ON:
            before[number] = signal.signal(number, lambda n, _: os.kill(pid, n))
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status if status >= 0 else 128 - status
    except (FileNotFoundError, PermissionError):
        raise Error(f"no such program: '{words[0]}'") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def show_page(name: str) -> int:
    """Open the page of a program with man; raise Error if there is no man or no page."""
    path = _find_page(name)
    if path is None:
        raise Error(f"the manual page of '{name}' is not installed: try '{name} -h'")
    if which("man") is None:
        raise Error(f"man is not installed, which shows '{path}': try '{name} -h'")
    sys.stdout.flush()
    if run_foreground(["man", path], os.environ):
        raise Error(f"man cannot show '{path}'")
    return OK


def _find_page(name: str) -> str | None:
    """The page of a program: of the checkout, else where an installer puts share/man."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    user = os.path.expanduser("~/.local")
    folders = [os.path.join(top, "man")]
    folders += [os.path.join(p, "share", "man", "man1") for p in (sys.prefix, user, "/usr/local")]
    paths = [os.path.join(folder, f"{name}.1") for folder in folders]
    return next((path for path in paths if os.path.exists(path)), None)
