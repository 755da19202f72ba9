"""Another commit of gitcp, beside which this one is measured: AGAINST=<commit> make bench."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bench.repos import CACHE
from bench.session import TOP

AGAINST = os.environ.get("AGAINST", "")


def unpack(commit: str) -> Path:
    """The files of a commit of this repository, unpacked once; they run with the packages that are
    installed for this checkout."""
    command = ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"]
    oid = subprocess.check_output(command, cwd=TOP, text=True).strip()
    path = CACHE / f"gitcp-{oid}"
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        packed = subprocess.check_output(["git", "archive", oid], cwd=TOP)
        subprocess.run(["tar", "-x"], cwd=unfinished, input=packed, check=True)
        unfinished.rename(path)
    return path
