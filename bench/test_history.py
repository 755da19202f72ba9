"""What reading costs beside git's own reading of the same: processor time of all processes, which
a busy machine changes little.  A search is also compared with a scan of every transcript.
bench/README.md has the figures of one run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from bench import growth
from bench.growth import cost, row
from bench.history import V1, linked
from bench.sample import sampled, transcripts

ROUNDS = 3
SIZES = (1_000, *((10_000,) if os.environ.get("LONG") else ()))
STORE = f"git rev-list --objects {V1} | cut -d' ' -f1 | git cat-file --batch --buffer"
# A command: its arguments, git beside it, and how many times git's it may cost, its start aside.
COMMANDS = {
    "log": ((), ("git", "log", "--numstat"), 4),
    "stats": (("--json",), ("git", "log", "--numstat"), 7.5),
    "stats --survival": (("--survival", "--json"), ("git", "log", "-p", "-U0"), 7.5),
    "show": (("main",), ("git", "log", "--format=%H%n%B"), 3),
    "fsck": ((), ("sh", "-c", STORE), 3.5),
    "search": (("change",), ("git", "log", "--grep=change"), 2.5),
}
FILE = ("main", "--", "dir00/file000.py")
SHARE = 0.15  # of the bytes of real transcripts, for the index of a search
SCAN = f"git ls-tree -r {V1} | grep full.jsonl | cut -c13-52 | git cat-file --batch | grep -c "
SEARCHED = ((sampled, 24, 0.1), (sampled, 600, 0.1), (linked, 20_000, 0.3))
WORDS = {sampled: ("checkpoint", "metadata", "branch"), linked: ("change", "777")}


@pytest.mark.parametrize("size", SIZES)
def test_reading_a_history(size: int) -> None:
    for name, (words, beside, most) in COMMANDS.items():
        compare(linked(size), f"{size}", (*name.split()[:1], *words), beside, most)


@pytest.mark.parametrize(("count", "most"), ((100, 95), (999, 55)))
def test_a_page_of_a_range(count: int, most: float) -> None:
    wanted = f"main~{count}..main"
    beside = ("git", "log", "-p", wanted)
    compare(linked(1_000), f"{count}", ("page", "-o", "-", wanted), beside, most)


def test_reading_a_file() -> None:
    """One of 2,000 lines that 200 commits wrote."""
    compare(linked(200, 1), "200", ("blame", *FILE), ("git", "blame", *FILE), 2.5)


def compare(
    at: Path, size: str, ours: tuple[str, ...], beside: tuple[str, ...], most: float
) -> None:
    """A row of medians, taken in turns.  A start is what `gitcp log -n 1` costs in a history of
    one commit."""
    used, floors, starts = [], [], []
    for _ in range(ROUNDS):
        used.append(growth.gitcp(*ours, cwd=at).seconds)
        floors.append(cost(*beside, cwd=at).seconds)
        starts.append(growth.gitcp("log", "-n", "1", cwd=linked(1)).seconds)
    took, floor, start = median(used), median(floors), median(starts)
    ratios = f"{took / floor:6.2f} x", f"{(took - start) / floor:6.2f} x less a start"
    title = f"{' '.join(ours[:2])} beside {' '.join(beside[:3])}"[:44]
    inside = took - start <= most * floor
    row(title, size, (growth.time(took), *ratios), inside, f"{most} x + a start")


def searched(path: Path, *words: str) -> float:
    """Seconds of processor time of a search that finds something, the median of some."""
    return median(growth.gitcp("search", *words, cwd=path).seconds for _ in range(ROUNDS))


@pytest.mark.parametrize(("make", "count", "most"), SEARCHED, ids=["24", "600", "20,000 small"])
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
    timed("a ref is new", growth.gitcp("search", *words, cwd=path).seconds, 0.15)
    cost("git", "branch", "-D", "other", cwd=path)
    grep = (*("git", "log", "--all", "-i", "--all-match"), *(f"--grep={word}" for word in words))
    timed("git log --grep beside", cost(*grep, cwd=path).seconds)
    timed("a scan of all transcripts beside", cost("sh", "-c", SCAN + words[0], cwd=path).seconds)
    size, stored = (path / "gitcp" / "search.sqlite").stat().st_size, transcripts(path)
    figures, real = (growth.size(size), f"of {growth.size(stored)}"), make is sampled
    budget = f"{SHARE:.0%}" if real else ""
    row("search, size", f"{count}", figures, not real or size <= SHARE * stored, budget)
