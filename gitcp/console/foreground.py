"""A program in the foreground: the terminal is its own, we wait."""

from __future__ import annotations

import os
import signal

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KEYS = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends them to the program as well
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def run(words: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program with our streams, to its end; its status, 128 and the signal that ended it.

    What the keyboard sends is the program's to answer, what others send us is passed on to it.
    Raises Error when there is no such program.
    """
    # A signal that comes before there is a program waits for it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _KEYS}
    try:
        mine = [number for number, was in before.items() if was is not signal.SIG_IGN]
        pid = os.posix_spawnp(words[0], list(words), dict(env), setsigdef=mine, setsigmask=mask)
        for number in _PASSED_ON:
            before[number] = signal.signal(number, lambda n, _: os.kill(pid, n))
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status if status >= 0 else 128 - status
    except (FileNotFoundError, PermissionError):
        raise Error(f"no such program: '{words[0]}'") from None
    finally:
        for number, was in before.items():
            signal.signal(number, was)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
