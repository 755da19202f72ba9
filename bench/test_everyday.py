"""What reading costs in a history as people have it, and in a file of very many lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import growth, real
from bench.everyday import everyday
from bench.repos import WHO, git


def test_reading_what_people_have() -> None:
    path = everyday()
    for row in real.measure(path, 200):
        told = f"{row.budget:.2f} s, {row.told}"
        figures = growth.time(row.used.seconds), growth.size(row.used.peak)
        inside = row.used.seconds <= row.budget and row.used.peak <= real.MOST
        growth.row(f"everyday: {row.title}", f"{row.floor:.2f} s", figures, inside, told)


@pytest.mark.skipif(not os.environ.get("LONG"), reason="a minute")
def test_blaming_a_file_of_very_many_lines(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "--template=")
    for half in (1, 2):
        lines = (f"{n},{n * 7919 % 104729},row\n" for n in range(half * 850_000))
        (tmp_path / "table.csv").write_text("".join(lines))
        git(tmp_path, "add", "-A")
        git(tmp_path, *WHO, "commit", "-q", "-m", f"{half}")
    floor = growth.cost("git", "blame", "table.csv", cwd=tmp_path).seconds
    used = growth.gitcp("blame", "table.csv", cwd=tmp_path)
    figures = growth.time(used.seconds), growth.size(used.peak)
    inside = used.seconds <= 2 * floor and used.peak <= real.MOST
    growth.row("blame of 1.7 million lines", f"{floor:.2f} s", figures, inside, "2 x git")
