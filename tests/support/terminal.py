"""A command at a terminal, with a person who types."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence
from typing import Self

import pyte

from tests.support.harness import World
from tests.support.paths import BIN

_LONGEST = 20  # seconds


def talk(world: World, command: Sequence[str], *talk: tuple[str, str], term: str = "dumb") -> str:
    """What a command shows: each text is typed when the one before it is seen."""
    pid, fd = _start(world, command, term, 100)
    seen = ""
    try:
        for wanted, typed in talk:
            seen += until(fd, wanted)
            os.write(fd, typed.encode())
        return seen + until(fd, "")
    finally:
        os.close(fd)  # a command that still waits gets SIGHUP
        os.waitpid(pid, 0)


def _start(world: World, command: Sequence[str], term: str, columns: int) -> tuple[int, int]:
    """(process, terminal) of a command that is started at a terminal of 30 rows."""
    pid, fd = pty.fork()
    if not pid:
        os.chdir(world.path)
        size = {"TERM": term, "LINES": "30", "COLUMNS": str(columns)}
        os.environ.update({**world.env, **size})
        name, *args = command
        os.execv(sys.executable, [sys.executable, str(BIN / f"gitcp-{name}"), *args])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    return pid, fd


def until(fd: int, wanted: str) -> str:
    """What comes until wanted has been seen, '' for the end."""
    seen, ends = "", time.monotonic() + _LONGEST
    while time.monotonic() < ends and not (wanted and wanted in seen):
        if select.select([fd], [], [], 1)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data.decode(errors="replace")
            if "\x1b[6n" in seen[-20:]:
                os.write(fd, b"\x1b[1;1R")
    assert wanted in seen and time.monotonic() < ends, seen
    return seen


class Screen:
    """What a person sees of a command that moves its cursor."""

    def __init__(self, world: World, command: Sequence[str], columns: int) -> None:
        self.pid, self._fd = _start(world, command, "xterm", columns)
        self._has_ended, self.raw = False, ""
        self._screen = pyte.Screen(columns, 30)
        self._stream = pyte.ByteStream(self._screen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
        if not self._has_ended:
            os.waitpid(self.pid, 0)

    @property
    def rows(self) -> list[str]:
        """The rows of the screen, without the spaces at their ends."""
        return [row.rstrip() for row in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    def type(self, keys: str, wanted: str = "") -> None:
        """Press keys, and wait until a text is seen."""
        os.write(self._fd, keys.encode())
        self.wait(wanted)

    def wait(self, wanted: str) -> None:
        """Read on until a text is on the screen."""
        self.wait_for(lambda: wanted in self.text)

    def wait_for(self, seen: Callable[[], bool]) -> None:
        """Read on until the screen is as it shall be: it is drawn in pieces."""
        ends = time.monotonic() + _LONGEST
        while not seen():
            assert time.monotonic() < ends and self._read(1), self.text

    def ended(self) -> int:
        """The status of the command, which ends by itself."""
        while self._read(_LONGEST):
            pass
        self._has_ended = True
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def resize(self, columns: int) -> None:
        """Give the terminal another width."""
        self._screen.resize(30, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))

    def _read(self, seconds: float) -> bool:
        """Take in what the command wrote; whether there can be more."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._fd, 4096)
        except OSError:
            return False
        self._stream.feed(data)
        self.raw += data.decode(errors="replace")
        if b"\x1b[6n" in data:
            os.write(self._fd, b"\x1b[1;1R")
        return bool(data)
