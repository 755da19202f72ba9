"""Rows of sizes: what a command costs as what it works on grows, each beside its budget.

Processor time and the largest process count, not the clock: other work on the machine does not
change them much.  Nothing asserts; a row outside its budget is said so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MB = 1 << 20
ROWS: list[str] = []
# A small process between: what it runs begins with its memory, not with ours.
_RUN = """
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
print([status, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024], file=sys.stderr)
"""


class Cost(NamedTuple):
    """Seconds of processor time, with all that was waited for; bytes of the largest process."""

    seconds: float
    peak: int


def cost(*argv: str, cwd: Path, stdin: bytes = b"") -> Cost:
    """Run a command that must succeed and say what it cost."""
    launcher = [sys.executable, "-I", "-S", "-c", _RUN, *argv]
    done = subprocess.run(launcher, cwd=cwd, input=stdin, capture_output=True, check=True)
    status, seconds, peak = json.loads(done.stderr.splitlines()[-1])
    assert status == 0, argv
    return Cost(seconds, peak)


def row(title: str, size: str, figures: Iterable[str], inside: bool, budget: str) -> None:
    """Keep a row for the table at the end."""
    word = "" if inside else "   OUTSIDE"
    ROWS.append(f"  {title:44} {size:>10}  {'  '.join(figures):42} {budget}{word}")
