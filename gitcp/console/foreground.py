"""Run a program in the foreground, with the terminal, and wait for it."""

from __future__ import annotations

import os
import signal
import sys
from shutil import which

from gitcp.errors import OK, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_KEYS = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends them to the program as well
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def run(words: Sequence[str], env: Mapping[str, str]) -> int:
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


def show(name: str) -> int:
    """Open the page of a program with man; raise Error if there is no man or no page."""
    path = _find_page(name)
    if path is None:
        raise Error(f"the manual page of '{name}' is not installed: try '{name} -h'")
    if which("man") is None:
        raise Error(f"man is not installed, which shows '{path}': try '{name} -h'")
    sys.stdout.flush()
    if run(["man", path], os.environ):
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
