"""What a search costs: the first index, later ones and queries, beside `git log --grep` and a scan
of every transcript."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from bench import growth
from bench.growth import cost, row
from bench.history import V1, linked
from bench.sample import sampled, transcripts

ROUNDS = 3
SHARE = 0.15  # of the bytes of real transcripts, for the index
SCAN = f"git ls-tree -r {V1} | grep full.jsonl | cut -c13-52 | git cat-file --batch | grep -c "
SIZES = ((sampled, 24, 0.1), (sampled, 600, 0.1), (linked, 20_000, 0.3))
WORDS = {sampled: ("checkpoint", "metadata", "branch"), linked: ("change", "777")}


def searched(path: Path, *words: str) -> float:
    """Seconds of processor time of a search that finds something, the median of some."""
    return median(growth.gitcp("search", *words, cwd=path).seconds for _ in range(ROUNDS))


@pytest.mark.parametrize(("make", "count", "most"), SIZES, ids=["24", "600", "20,000 small"])
def test_searching(make: Callable[[int], Path], count: int, most: float) -> None:
    """The first by the clock, as a person waits; others by processor time."""
    path, words = make(count), WORDS[make]
    for file in (path / "gitcp").glob("search.*"):
        file.unlink()

    def timed(name: str, seconds: float, budget: float = 0.0) -> None:
        inside = not budget or seconds <= budget
        row(f"search, {name}", f"{count}", (growth.time(seconds),), inside, f"{budget or ''}")

    timed("first", growth.gitcp("search", *words, cwd=path).clock, 60)
    timed("again", searched(path, *words), most)
    timed("--exact", searched(path, "--exact", words[0][1:-1]), most)
    cost("git", "branch", "-f", "other", "main~1", cwd=path)
    timed("a ref is new", growth.gitcp("search", *words, cwd=path).seconds, 0.3)
    cost("git", "branch", "-D", "other", cwd=path)
    grep = (*("git", "log", "--all", "-i", "--all-match"), *(f"--grep={word}" for word in words))
    timed("git log --grep beside", cost(*grep, cwd=path).seconds)
    timed("a scan of all transcripts beside", cost("sh", "-c", SCAN + words[0], cwd=path).seconds)
    size, stored = (path / "gitcp" / "search.sqlite").stat().st_size, transcripts(path)
    figures, real = (growth.size(size), f"of {growth.size(stored)}"), make is sampled
    budget = f"{SHARE:.0%}" if real else ""
    row("search, size", f"{count}", figures, not real or size <= SHARE * stored, budget)
