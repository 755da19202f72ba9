"""Rows of sizes: what a command costs as what it works on grows, each beside its budget.

Processor time and the largest process count, not the clock: other work on the machine does not
change them much.  Where several processes share the work it is the clock.  Nothing asserts; a
row outside its budget is said so.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bench.budgets import START
from bench.session import TOP

MB = 1 << 20
NORMAL = 0.0075  # seconds: P of the machine that budgets in seconds are for
ROWS: list[str] = []
OUTSIDE: list[str] = []
# A small process between: what it runs begins with its memory, not with ours.
_RUN = """
import os, sys, time
began = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
clock = time.perf_counter() - began
print([status, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, clock], file=sys.stderr)
"""
# git maps whole packs into its memory: of a command of ours, what its own process took at most.
_OWN = """
import atexit, runpy, sys
def tell(path):
    with open("/proc/self/status") as lines, open(path, "w") as told:
        told.write(*(line.split()[1] for line in lines if line.startswith("VmHWM")))
atexit.register(tell, sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Cost(NamedTuple):
    """Seconds of processor time, with all that was waited for; bytes of the largest process;
    seconds that passed."""

    seconds: float
    peak: int
    clock: float


def cost(*argv: str, cwd: Path, stdin: bytes = b"", ok: Iterable[int] = (0,)) -> Cost:
    """Run a command that must succeed, or end with a status of ok, and say what it cost."""
    launcher = [sys.executable, "-I", "-S", "-c", _RUN, *argv]
    done = subprocess.run(launcher, cwd=cwd, input=stdin, capture_output=True, check=True)
    status, seconds, peak, clock = json.loads(done.stderr.splitlines()[-1])
    assert os.waitstatus_to_exitcode(status) in ok, argv
    return Cost(seconds, peak, clock)


def gitcp(name: str, *args: str, cwd: Path, stdin: bytes = b"", ok: Iterable[int] = (0,)) -> Cost:
    """A command of ours: the time of all its processes, the memory of its own."""
    with tempfile.NamedTemporaryFile("r") as told:
        script = str(TOP / "bin" / f"gitcp-{name}")
        argv = (sys.executable, "-c", _OWN, told.name, script, *args)
        used = cost(*argv, cwd=cwd, stdin=stdin, ok=ok)
        return used._replace(peak=int(told.read()) * 1024)


@cache
def start() -> float:
    """P: the processor time of one start of Python without site, in seconds."""
    return statistics.median(cost(*START, cwd=TOP).seconds for _ in range(15))


def time(seconds: float) -> str:
    """How long something took, by itself and in P."""
    return f"{seconds:6.2f} s {seconds / start():7.1f} P"


def size(peak: int) -> str:
    """How much memory something took."""
    return f"{peak / MB:4.0f} MB"


def row(title: str, size: str, figures: Iterable[str], inside: bool, budget: str) -> None:
    """Keep a row for the table at the end."""
    line = f"  {title:44} {size:>10}  {'  '.join(figures):42} {budget}"
    ROWS.append(line if inside else f"{line}   OUTSIDE")
    OUTSIDE.extend([] if inside else [line])
