"""Importing conversations: beside what reading them as JSON costs; memory stays flat.

The budgets: 60 seconds of a normal processor for 200 MB, and 96 MB for any number.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from bench import conversations, growth
from bench.growth import MB, NORMAL, row

SIZES = (50,) if not os.environ.get("LONG") else (50, 200)  # MB
READ = """
import orjson, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)
"""


@pytest.mark.parametrize("size", SIZES)
def test_importing_conversations(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, home = conversations.kept(size)
    repo = shutil.copytree(kept, tmp_path / "repo")
    monkeypatch.setenv("HOME", str(home))
    read = growth.cost(sys.executable, "-c", READ, str(home), cwd=repo)
    used = growth.gitcp("import", "--yes", "--path", str(kept), cwd=repo)
    times = f"{used.seconds / read.seconds:5.1f} x orjson"
    figures = growth.time(used.seconds), growth.size(used.peak), times
    most = size / 200 * 60 * growth.start() / NORMAL
    inside = used.seconds <= most and used.peak <= 96 * MB
    row("import, conversations", f"{size} MB", figures, inside, "60 s of a normal P for 200, 96 MB")
