"""Hooks where much has gathered, beside the same in a repository of one small session; and on a
machine that has nothing of it in memory.  `make bench-long` alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.budgets import START, Budget, Cost, run, table
from bench.repos import CACHE
from bench.session import Session
from bench.test_growth import left_behind
from bench.test_hooks import turn

ROUNDS = max(2, int(os.environ.get("ROUNDS", "30")) // 5)
TURNS, STREAMS, AT_REST, CHECKPOINTS = 200, 500, 5_000, 50_000
OPEN = 200
ROWS = "prompt", "file tool, both hooks", "shell, both hooks", "stop", "commit"
CACHES = Path("/proc/sys/vm/drop_caches")

pytestmark = pytest.mark.skipif(not os.environ.get("LONG"), reason="make bench-long")


def test_hooks_where_much_has_gathered(template: Path, tmp_path: Path) -> None:
    rows = table("growth of hooks, 300 files")
    names = {
        "": "one",
        f", {CHECKPOINTS} checkpoints": "checkpoints",
        f", {AT_REST} sessions at rest": "rest",
        f", {TURNS} turns": "turns",
        f", {STREAMS} streams": "streams",
        f", {OPEN} open sessions": "open",
    }
    sessions = {title: Session(template, tmp_path / name) for title, name in names.items()}
    _, checkpoints, rest, turns, streams, opened = sessions.values()
    opened.others(OPEN)
    checkpoints.stored(CHECKPOINTS, with_states=False)
    rest.stored(AT_REST)
    left_behind(streams, STREAMS)
    for _ in range(TURNS):
        turns.prompt()
        turns.file_tool(turns.repo / "dir00" / "file001.py")
        turns.talk(3)
        turns.stop()
    for count in range(ROUNDS + 1):
        for title, session in sessions.items():
            costs = turn(session)
            for row in ROWS if count else ():
                budget = Budget(times=1.2, floor=row) if title else None
                rows.add(row + title, costs[row], budget)
        rows.starts(sessions[""].repo)


def test_a_machine_without_a_warm_cache(template: Path) -> None:
    """On a disk, which is waited for: the time by the clock tells."""
    if not os.access(CACHES, os.W_OK):
        pytest.skip(f"{CACHES} may not be written")
    rows = table("nothing in memory, 300 files")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        session = Session(template, Path(folder) / "cold")
        turn(session)
        for _ in range(ROUNDS):
            rows.starts(session.repo)
            rows.add("Python", cold(run, START, session.repo))
            rows.add("git status", cold(run, ("git", "status", "--porcelain"), session.repo))
            rows.add("prompt", cold(session.prompt))
            session.file_tool(session.repo / "dir00" / "file001.py")
            session.talk()
            rows.add("stop", cold(session.stop))
            rows.add("git commit", cold(session.commit))


def cold(work: Callable[..., Cost], *args: object) -> Cost:
    """What work costs where no file is in memory."""
    os.sync()
    CACHES.write_text("3\n")
    return work(*args)
