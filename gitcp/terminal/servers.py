"""What ends a server: a signal, whatever the event loop of its library does, and no client."""

from __future__ import annotations

import os
import signal
import threading

from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def outlive_clients() -> None:
    """Let writing to a client that has gone fail, instead of ending the process by SIGPIPE."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def end_at_signals(finish: Callable[[], object]) -> None:
    """Let SIGINT, SIGTERM and SIGHUP call finish, clean up, and end the process.

    No exception is raised, which a library might catch or print.  A signal that comes just before
    the main thread waits would be handled after the wait only, so a thread sends it again until it
    is handled.
    """
    handled = threading.Event()
    main = threading.get_ident()
    reader, writer = os.pipe()

    def end(number: int, _: object) -> None:
        if not handled.is_set():  # a second one would interrupt the cleaning
            handled.set()
            try:
                finish()
                cli.clean_up()
            finally:
                cli.end_by(number)

    def insist() -> None:
        number = os.read(reader, 1)[0]
        while not handled.wait(0.1):
            signal.pthread_kill(main, number)

    for number in cli.ENDS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)  # Python writes the signal's number to it at once
    threading.Thread(target=insist, daemon=True).start()
