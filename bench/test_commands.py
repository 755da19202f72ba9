"""How long a command takes to start; and commands on a large store and a long history, each beside
git over the same objects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from bench import growth
from bench.budgets import Budget, run, table
from bench.growth import MB, Cost, cost, row
from bench.history import V1, checkpoint_id, linked, long
from bench.session import GITCP, TOP, quietly
from gitcp import commands

LONG = bool(os.environ.get("LONG"))
STORED = (1_000, 10_000, *((50_000,) if LONG else ()))
COMMITS = (50_000, *((500_000,) if LONG else ()))
PUSHED = 10_000 if LONG else 1_000
LISTS = ("list-checkpoints", "list-sessions", "list-streams", "list-refs", "list-orphans")
FLAT, ROUNDS = 64 * MB, 3
NAMES = sorted(commands.NAMES)
GROUP = "start of a command (-h)"


def read(path: Path, *argv: str) -> list[str]:
    return subprocess.check_output(["git", *argv], cwd=path, text=True).splitlines()


def batch(path: Path, oids: list[str]) -> Cost:
    """What git takes to read these objects."""
    stdin = "".join(f"{oid[:40]}\n" for oid in oids).encode()
    return cost("git", "cat-file", "--batch", "--buffer", cwd=path, stdin=stdin)


def listed(path: Path) -> list[str]:
    """What a list of the checkpoints has to read: directories and metadata."""
    entries = (line.split() for line in read(path, "ls-tree", "-r", "-t", V1))
    return [oid for _, kind, oid, name in entries if kind == "tree" or name.endswith("a.json")]


def test_what_reads_the_whole_store() -> None:
    """At most twice what git takes to read the same objects, beside what the same command takes
    in a store of one checkpoint: its start and that of git; by the clock.  Memory flat."""
    for size in STORED:
        path = linked(size)
        objects = dict.fromkeys(LISTS, listed(path))
        objects["du"] = read(path, "rev-list", "--objects", V1)
        objects["check-store"] = read(path, "rev-list", "--objects", "--all")
        for name, oids in objects.items():
            floors, used, starts = [], [], []
            for _ in range(ROUNDS):
                floors.append(batch(path, oids))
                used.append(growth.gitcp(name, cwd=path))
                starts.append(growth.gitcp(name, cwd=linked(1)))
            seconds, peak = median(one.seconds for one in used), max(one.peak for one in used)
            clock, start, floor = (median(c.clock for c in each) for each in (used, starts, floors))
            ratio, work = (clock - start) / floor, seconds / median(c.seconds for c in floors)
            times = f"{ratio:4.1f} x git, {work:4.1f} x its work"
            figures = growth.time(seconds), times, growth.size(peak)
            inside = ratio <= 2 and peak <= FLAT
            row(f"{name}, checkpoints", f"{size}", figures, inside, "2 x + start, flat")


def test_what_a_person_looks_at() -> None:
    """What it costs with the smallest store, a P for noise.  show also looks for other commits with
    the checkpoint: at what find-commits may cost."""
    for argv, searched in ((("log", "-n", "20"), 0.0), (("show", "main"), 1.5)):
        least = 0.0
        for size in STORED:
            path = linked(size)
            history = cost("git", "log", "--format=%H%n%B", cwd=path).seconds
            costs = [growth.gitcp(*argv, cwd=path) for _ in range(ROUNDS)]
            seconds, peak = median(one.seconds for one in costs), max(one.peak for one in costs)
            least = least or seconds
            inside = seconds <= least + growth.start() + searched * history and peak <= FLAT
            figures = growth.time(seconds), growth.size(peak)
            budget = "flat + 1.5 x git log" if searched else "flat"
            row(f"{' '.join(argv)}, checkpoints", f"{size}", figures, inside, budget)


def test_finding_commits() -> None:
    """At most 1.5 times git log; memory flat."""
    for size in COMMITS:
        path, ids = long(size), [checkpoint_id(n) for n in range(0, size, 10)]
        floor = cost("git", "log", "--format=%H%n%B", cwd=path).seconds
        records = [json.dumps({"type": "checkpoint", "checkpoint_id": i}) for i in ids]
        one = growth.gitcp("find-commits", ids[1], cwd=path)
        every = growth.gitcp("find-commits", cwd=path, stdin="\n".join(records).encode())
        for name, used in (("one", one), ("all", every)):
            ratio = used.seconds / floor
            figures = growth.time(used.seconds), f"{ratio:4.1f} x log", growth.size(used.peak)
            inside = ratio <= 1.5 and used.peak <= FLAT
            row(f"find-commits of {name}, commits", f"{size}", figures, inside, "1.5 x, flat")


def test_the_first_push(tmp_path: Path) -> None:
    """At most twice a push of git's, and a second; what was searched is remembered."""
    rows = table(f"push of {PUSHED} checkpoints")
    for count in range(3):
        at = tmp_path / f"{count}"
        path = at / "repo"
        quietly(
            "git", "clone", "-q", "--bare", "--local", str(linked(PUSHED)), str(path), cwd=tmp_path
        )
        for name in ("plain", "first", "second"):
            quietly("git", "init", "-q", "--bare", str(at / name), cwd=tmp_path)
        push = (*GITCP, "push-checkpoints", "--timeout", "600")
        rows.starts(path)
        rows.add("git push", run(("git", "push", "-q", str(at / "plain"), V1), path))
        budget = Budget(times=2, floor="git push", seconds=1)
        rows.add("the first push", run((*push, str(at / "first")), path), budget)
        again = Budget(20, 1.2, "git push")
        rows.add("to another remote", run((*push, str(at / "second")), path), again)


def python(*args: str) -> None:
    quietly(sys.executable, *args, cwd=TOP)


@pytest.mark.benchmark(group=GROUP)
def test_python_alone(benchmark: Any) -> None:
    benchmark.pedantic(python, ("-c", "pass"), rounds=15)


@pytest.mark.benchmark(group=GROUP)
@pytest.mark.parametrize("name", NAMES)
def test_start_of(benchmark: Any, name: str) -> None:
    benchmark.pedantic(python, (str(TOP / "bin" / f"gitcp-{name}"), "-h"), rounds=5)
