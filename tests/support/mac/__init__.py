"""A Mac, as near as Linux allows: no /proc, and a `ps` that takes what BSD's takes."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

HIDE = str(Path(__file__).with_name("without-proc"))  # runs a command; BLIND=1: ps is refused, too


@cache
def why_not() -> str:
    """Why /proc cannot be hidden here; '' where it can."""
    try:
        done = subprocess.run([HIDE, "true"], capture_output=True, text=True)
    except OSError as e:
        return str(e)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""
