"""What commands show at a terminal of 40, 80 and 120 columns, compared with tests/data/screens.

`SCREENS=1` in the environment writes the files anew: look at the difference.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitcp import __main__
from gitcp.text.spans import count_cells
from tests.support.paths import TOP
from tests.support.sealed import environment
from tests.support.story import recorded

KEPT = TOP / "tests" / "data" / "screens"
WIDTHS = (40, 80, 120)
# Lines of a file are not folded.
UNFOLDED = {"blame"}
COMMAND = "  go on: "  # before a command, which stays whole: it is copied into a shell
SCREENS = {
    "overview": ["gitcp"],
    "help -a": ["gitcp", "help", "-a"],
    "status": ["gitcp", "status", "-v"],
    "log": ["gitcp", "log"],
    "log --graph": ["gitcp", "log", "--graph"],
    "show": ["gitcp", "show", "HEAD"],
    "blame": ["gitcp", "blame", "greet.py"],
    "why": ["gitcp", "why", "greet.py:1"],
    "stats": ["gitcp", "stats"],
    "rewind --list": ["gitcp", "rewind", "--list"],
    "search": ["gitcp", "search", "add"],
    "sessions": ["gitcp", "sessions"],
    "log -h": ["gitcp", "log", "-h"],
    "rewind -h": ["gitcp", "rewind", "-h"],
    "no such command": ["gitcp", "statsu"],
    "no such option": ["gitcp", "log", "--nope"],
    "no such name": ["gitcp", "show", "nix"],
    "no such point": ["gitcp", "rewind", "--to", "nix"],
    "no such line": ["gitcp", "why", "greet.py:99"],
    "no such agent": ["gitcp", "enable", "--agent", "cluade-code"],
    "nothing found": ["gitcp", "search", "xylophone"],
}
# What differs from run to run, and what stands in its place, as long.
VOLATILE = (
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"), "0"),
    (re.compile(r"20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?"), "9"),
    (re.compile(r"(?:\d+[ymdh]o? ago|just now)"), "~"),
    (re.compile(r"\+\d{4}\b|(?<=T)\d\d:\d\d:\d\dZ"), "9"),
)


@pytest.fixture(scope="module")
def place(ground: Path) -> Iterator[Path]:
    """The repository of the manual's examples, in a folder whose name is as long everywhere."""
    with tempfile.TemporaryDirectory(dir="/tmp") as tmp, environment():
        yield recorded(ground, Path(tmp))


def screen(place: Path, argv: list[str], width: int) -> str:
    """What a command shows at a terminal, without colours; a line behind it tells its status."""
    # What was written can be lost when the last process closes a terminal: it is kept open here.
    master, kept_open = pty.openpty()
    pid = os.fork()
    if not pid:
        os.login_tty(kept_open)
        _become(place, argv, width)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
    seen, ended, status = b"", 0, 0
    while select.select([master], [], [], 0 if ended else 0.02)[0] or not ended:
        if select.select([master], [], [], 0)[0]:
            seen += os.read(master, 65536)
        elif not ended:
            ended, status = os.waitpid(pid, os.WNOHANG)
    os.close(kept_open)
    os.close(master)
    status = os.waitstatus_to_exitcode(status)
    text = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", seen.decode()).replace("\r\n", "\n")
    text = re.sub(r".*\r", "", text)  # progress that was written over
    return f"{text}[{status}]\n"


def _become(place: Path, argv: list[str], width: int) -> None:
    """Be the command, at the moment in which the repository was made."""
    now = place.stat().st_ctime
    status = 1
    try:
        time.time = lambda: now
        os.chdir(place)
        size = {"TERM": "xterm", "COLUMNS": str(width), "LINES": "30", "GIT_PAGER": "cat"}
        os.environ.update({**size, "TZ": "UTC", "HOME": str(place.parent)})
        sys.argv, sys.stdin, sys.stdout, sys.stderr = argv, *map(_terminal, "rww")
        status = __main__.main()
    except SystemExit as e:
        status = int(e.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(status)


def _terminal(mode: str) -> Any:
    return open("/dev/tty", mode, encoding="utf-8", errors="surrogateescape")


def steady(text: str, place: Path) -> str:
    """The text with what differs from run to run replaced."""
    text = text.replace(str(place.parent), "/tmp/folder______")
    text = re.sub(r", \d+ s$", "", text, flags=re.MULTILINE)  # how long a prompt took
    for pattern, sign in VOLATILE:
        text = pattern.sub(lambda found: sign * len(found[0]), text)  # noqa: B023
    return text


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_as_it_was_and_fits(name: str, place: Path) -> None:
    shown = {width: screen(place, SCREENS[name], width) for width in WIDTHS}
    if name not in UNFOLDED:
        for width, text in shown.items():
            folded = [line for line in text.split("\n") if not line.startswith(COMMAND)]
            long = [line for line in folded if count_cells(line) > width]
            assert not long or not text.endswith("[0]\n"), (width, long)
    parts = [f"== {width}\n{steady(text, place)}" for width, text in shown.items()]
    kept = KEPT / f"{name.replace(' ', '-')}.txt"
    if os.environ.get("SCREENS"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("\n".join(parts))
    assert kept.read_text() == "\n".join(parts)
