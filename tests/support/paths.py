"""Where things lie in the checkout that is tested."""

from __future__ import annotations

from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BIN = TOP / "bin"
DATA = TOP / "tests" / "data"
ENTRY = TOP / "gitcp" / "entry.py"  # what installed hooks run
