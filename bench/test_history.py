"""Asking a history: 10,000 linked commits, sums of them, and a file of many, line by line.

The budgets: stats 3 times `git log --numstat`, with --survival 3 times `git log -p -U0`; log 3
times git's and 0.5 s; blame 1.3 times git's and 80 ms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.history import linked
from bench.session import GITCP, quietly

ROUNDS = 3
FILE = ("main", "--", "dir00/file000.py")


@pytest.fixture(scope="module")
def commits() -> Path:
    return linked(10_000)


@pytest.fixture(scope="module")
def file() -> Path:
    """One file of 2,000 lines that 200 commits wrote."""
    return linked(200, 1)


def measure(benchmark: Any, at: Path, *argv: str) -> None:
    benchmark.pedantic(lambda: quietly(*argv, cwd=at), rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.benchmark(group="10,000 commits: how much is whose (3 x)")
def test_git_log_numstat(benchmark: Any, commits: Path) -> None:
    measure(benchmark, commits, "git", "log", "--numstat")


@pytest.mark.benchmark(group="10,000 commits: how much is whose (3 x)")
def test_stats(benchmark: Any, commits: Path) -> None:
    measure(benchmark, commits, *GITCP, "stats", "--json")


@pytest.mark.benchmark(group="10,000 commits: who was behind them (3 x + 0.5 s)")
def test_git_log(benchmark: Any, commits: Path) -> None:
    measure(benchmark, commits, "git", "log")


@pytest.mark.benchmark(group="10,000 commits: who was behind them (3 x + 0.5 s)")
def test_log(benchmark: Any, commits: Path) -> None:
    measure(benchmark, commits, *GITCP, "log")


@pytest.mark.benchmark(group="10,000 commits: what lived on (3 x)")
def test_git_log_patches(benchmark: Any, commits: Path) -> None:
    measure(benchmark, commits, "git", "log", "-p", "-U0")


@pytest.mark.benchmark(group="10,000 commits: what lived on (3 x)")
def test_stats_with_survival(benchmark: Any, commits: Path) -> None:
    measure(benchmark, commits, *GITCP, "stats", "--survival", "--json")


@pytest.mark.benchmark(group="2,000 lines of 200 linked commits (1.3 x + 80 ms)")
def test_git_blame(benchmark: Any, file: Path) -> None:
    measure(benchmark, file, "git", "blame", *FILE)


@pytest.mark.benchmark(group="2,000 lines of 200 linked commits (1.3 x + 80 ms)")
def test_blame(benchmark: Any, file: Path) -> None:
    measure(benchmark, file, *GITCP, "blame", *FILE)
