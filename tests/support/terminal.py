"""A command at a terminal, with a person who types."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Sequence

from tests.support.harness import World
from tests.support.paths import BIN


def talk(world: World, command: Sequence[str], *talk: tuple[str, str], term: str = "dumb") -> str:
    """What a command shows: each text is typed when the one before it is seen."""
    pid, fd = pty.fork()
    if not pid:
        os.chdir(world.path)
        os.environ.update({**world.env, "TERM": term, "LINES": "30", "COLUMNS": "100"})
        name, *args = command
        os.execv(sys.executable, [sys.executable, str(BIN / f"gitcp-{name}"), *args])
    seen = ""
    try:
        for wanted, typed in talk:
            seen += until(fd, wanted)
            os.write(fd, typed.encode())
        return seen + until(fd, "")
    finally:
        os.close(fd)  # a command that still waits gets SIGHUP
        os.waitpid(pid, 0)


def until(fd: int, wanted: str) -> str:
    """What comes until wanted has been seen, '' for the end."""
    seen, ends = "", time.monotonic() + 20
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
