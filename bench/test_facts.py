"""Exporting the facts of a long history, a fifth of it linked: memory stays flat.

The budgets: 60 seconds of a normal processor for 10,000 commits, and 128 MB for any number.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import growth
from bench.growth import MB, NORMAL, row
from bench.history import FILES, linked

pytest.importorskip("pyarrow")
SIZES = (1_000, 10_000) if not os.environ.get("LONG") else (1_000, 10_000, 30_000)


@pytest.mark.parametrize("size", SIZES)
def test_exporting_facts(size: int, tmp_path: Path) -> None:
    used = growth.gitcp("export-facts", "-o", str(tmp_path), cwd=linked(size, FILES, 5))
    figures = growth.time(used.seconds), growth.size(used.peak)
    most = size / 10_000 * 60 * growth.start() / NORMAL
    inside = used.seconds <= most and used.peak <= 128 * MB
    row(
        "export-facts, commits", f"{size}", figures, inside, "60 s of a normal P for 10,000, 128 MB"
    )
