"""Format text for a terminal: colours, ages, times, single lines."""

from __future__ import annotations

import os
import signal
import sys
import time

from gitcp import memory
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    Item = TypeVar("Item")

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan")
_CODES = {"bold": 1, "dim": 2, "command": 32} | {name: 31 + n for n, name in enumerate(_COLOURS)}
_AGED = 7 * 86400  # seconds
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_RECENT = 20 * 3600  # seconds
_AGES = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))


def paint(text: str, colour: str) -> str:
    """text in a colour of _CODES."""
    if text:
        return f"\033[{_CODES[colour]}m{text}\033[0m"
    return text


def format_age(seconds: float) -> str:
    """An age in its largest unit: `just now`, `5m ago`, `3h ago`, `2d ago`, `4mo ago`."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def format_since(then: float) -> str:
    """When a time in seconds since 1970 was: its age up to _AGED, then its local day, `15 Mar`,
    with the year if it is another one, `15 Mar 25`; `never` for 0."""
    if not then:
        return "never"
    now = time.time()
    if now - then < _AGED:
        return format_age(now - then)
    at = time.localtime(then)
    day = f"{at.tm_mday} {_MONTHS[at.tm_mon - 1]}"
    if at.tm_year == time.localtime(now).tm_year:
        return day
    return f"{day} {at.tm_year % 100:02}"


def format_time(seconds: float) -> str:
    """A local time, as in `2026-11-22 09:30`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def format_clock(seconds: float) -> str:
    """A local time without its date, as in `09:30`, if it is not older than _RECENT."""
    is_recent = time.time() - seconds <= _RECENT
    return time.strftime("%H:%M" if is_recent else "%Y-%m-%d %H:%M", time.localtime(seconds))


# Show what a long task does in a line on standard error, if it is a terminal.  A timer draws the
# line, so that it appears also while git works, and costs a loop nothing.
# seconds before anything is shown, and between two drawings
_DELAY = 0.5
_PAUSE = 0.1
_CLEAR = "\r\033[K"
_NEVER = float("inf")
# "due": when the first line may be shown; "line": what it says now; "drawn": what is seen.
_STATE: dict[str, Any] = memory.get_table("progress")


def iterate_shown(title: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items, one by one, while the line shows how many were used."""
    for number, item in enumerate(items):
        show_count(title, number, len(items))
        yield item
    hide_progress()


def iterate_counted(title: str, batches: Iterable[Sequence[Item]]) -> Iterator[Sequence[Item]]:
    """The batches, while the line shows how many items were in them."""
    show_count(title, count := 0)
    for batch in batches:
        yield batch
        show_count(title, count := count + len(batch))
    hide_progress()


def show_count(title: str, done: int, total: int = 0) -> None:
    """Show `title: 34 % (12/35)`, without a total `title: 12`; nothing once all is done."""
    if not total:
        show_line(f"{title}: {done}" if done else title)
    elif done < total:
        show_line(f"{title}: {done * 100 // total} % ({done}/{total})")
    else:
        hide_progress()


def show_line(text: str) -> None:
    """Make text the line, which is shown from GIT_PROGRESS_DELAY seconds (default: 0.5) after the
    first call on, until hide_progress()."""
    if "due" not in _STATE:
        delay = os.environ.get("GIT_PROGRESS_DELAY", "")
        seconds: float = int(delay) if delay.isdecimal() else _DELAY
        if _start_timer():
            _STATE["due"] = time.monotonic() + seconds
        else:
            _STATE["due"] = _NEVER
    if _STATE["due"] == _NEVER:
        return
    is_new = "line" not in _STATE
    _STATE["line"] = text
    if is_new:
        left = _STATE["due"] - time.monotonic()
        if left <= 0:
            _draw()
        signal.setitimer(signal.ITIMER_REAL, left if left > 0 else _PAUSE, _PAUSE)


def hide_progress() -> None:
    """Remove the line, before other output takes its place."""
    if "line" in _STATE:
        signal.setitimer(signal.ITIMER_REAL, 0)
        del _STATE["line"]
        if "drawn" in _STATE:
            os.write(2, _CLEAR.encode())
            del _STATE["drawn"]


def stop_progress() -> None:
    """Remove the line for good: the output itself shows how far the command is."""
    hide_progress()
    _STATE["due"] = _NEVER


def _start_timer() -> bool:
    """Whether standard error is a terminal, and a timer can draw there."""
    if not (sys.stderr.isatty() and hasattr(signal, "setitimer")):
        return False
    try:
        signal.signal(signal.SIGALRM, _draw)
    except ValueError:  # this is not the main thread
        return False
    return True


def _draw(*_: object) -> None:
    """Draw the line, cut to the width of the terminal, unless the command is in the background."""
    line = _STATE.get("line")
    if line is None or line == _STATE.get("drawn"):
        return  # it is not drawn over what a child writes, such as a question of ssh
    try:
        if os.tcgetpgrp(2) != os.getpgrp():
            return
    except OSError:  # it is not the terminal that this process belongs to
        pass
    try:
        width = os.get_terminal_size(2).columns or 80
        shown = "".join(c if c.isprintable() else "?" for c in line[: width - 1])
        _STATE["drawn"] = line  # first: Ctrl-C may come as soon as the line is seen
        os.write(2, f"\r{shown}\033[K".encode(errors="replace"))
    except OSError:  # the terminal is gone
        _STATE["due"] = _NEVER


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
