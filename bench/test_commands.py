"""How long a command takes to start; and commands on a large store and a long history, each beside
git over the same objects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import growth
from bench.budgets import Budget, run, table
from bench.growth import MB, cost, row
from bench.history import V1, checkpoint_id, linked, long
from bench.session import GITCP, TOP, quietly
from gitcp import commands

LONG = bool(os.environ.get("LONG"))
STORED = (1_000, 10_000, *((50_000,) if LONG else ()))
COMMITS = (50_000, *((500_000,) if LONG else ()))
PUSHED = 10_000 if LONG else 1_000
LISTS = ("list-checkpoints", "list-sessions", "list-streams", "list-refs", "list-orphans")
FLAT = 64 * MB
NAMES = sorted({**commands.STAGES, **commands.TOOLS})
GROUP = "start of a command (-h)"


def read(path: Path, *argv: str) -> list[str]:
    return subprocess.check_output(["git", *argv], cwd=path, text=True).splitlines()


def batch(path: Path, oids: list[str]) -> float:
    """Seconds of git to read these objects."""
    stdin = "".join(f"{oid[:40]}\n" for oid in oids).encode()
    return cost("git", "cat-file", "--batch", "--buffer", cwd=path, stdin=stdin).seconds


def listed(path: Path) -> list[str]:
    """What a list of the checkpoints has to read: directories and metadata."""
    entries = (line.split() for line in read(path, "ls-tree", "-r", "-t", V1))
    return [oid for _, kind, oid, name in entries if kind == "tree" or name.endswith("a.json")]


def test_what_reads_the_whole_store() -> None:
    """At most twice what git takes to read the same objects; memory flat."""
    for size in STORED:
        path = linked(size)
        floors = dict.fromkeys(LISTS, batch(path, listed(path)))
        floors["du"] = batch(path, read(path, "rev-list", "--objects", V1))
        floors["check-store"] = batch(path, read(path, "rev-list", "--objects", "--all"))
        for name, floor in floors.items():
            used = growth.gitcp(name, cwd=path)
            ratio = used.seconds / floor
            figures = growth.time(used.seconds), f"{ratio:4.1f} x git", growth.size(used.peak)
            inside = used.seconds <= 2 * floor + 10 * growth.start()
            row(
                f"{name}, checkpoints",
                f"{size}",
                figures,
                inside and used.peak <= FLAT,
                "2 x + 10 P, flat",
            )


def test_what_a_person_looks_at() -> None:
    """The same however much is stored; show looks for what carries the checkpoint as well."""
    for size in STORED:
        path, most = linked(size), 12 * growth.start()
        history = cost("git", "log", "--format=%H%n%B", cwd=path).seconds
        for argv, more in ((("log", "-n", "20"), 0.0), (("show", "main"), 1.2 * history)):
            used = growth.gitcp(*argv, cwd=path)
            figures = growth.time(used.seconds), growth.size(used.peak)
            budget = "1.2 x git log + 12 P" if more else "12 P"
            inside = used.seconds <= more + most
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
