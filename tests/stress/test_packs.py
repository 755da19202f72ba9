"""Packs of ours under kills at each call that writes, and under many at once: nothing is lost.

LONG=1 kills at every call and lets more processes write; else a few do.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.git.gitdir import packs
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.stress.test_faults import FAULTS
from tests.support.checkpoints import git
from tests.support.paths import TOP

LONG = bool(os.environ.get("LONG"))
KILLS, PROCESSES, ROUNDS = (10**6, 16, 60) if LONG else (9, 5, 12)
WRITES = f"""
import sys
sys.path.insert(0, {str(TOP)!r})
from gitcp.git.repo import Repo
from gitcp.git.objects import Objects

for number in range(int(sys.argv[2])):
    with Objects(Repo.find()) as objects:
        for text in ("the same", sys.argv[1], f"{{sys.argv[1]}} {{number}}"):
            print(objects.write("blob", f"{{text}} {{number}}".encode()))
"""


@pytest.fixture
def writer(repo: Path, tmp_path: Path) -> list[str]:
    """A program that writes packs, and prints what is in them, given a word and how often."""
    program = tmp_path / "writes.py"
    program.write_text(WRITES)
    return [str(program)]


def written(*texts: str) -> list[str]:
    with Objects(Repo.find()) as objects:
        oids = []
        for text in texts:
            oids.append(objects.write("blob", text.encode()))
            objects.packs.flush()
    return oids


def there(oids: list[str]) -> None:
    """git has each of them, and finds nothing wrong."""
    asked = "".join(f"{oid}\n" for oid in oids)
    assert "missing" not in git("cat-file", "--batch-check", stdin=asked)
    git("fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("before", [0, packs.MOST])
def test_a_kill_at_any_call_that_writes_or_joins_a_pack_loses_nothing(
    repo: Path, writer: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    calls, oids = tmp_path / "calls", written(*map(str, range(before)))
    monkeypatch.setenv("FAULTS", str(calls))

    def killed(number: int) -> int:
        monkeypatch.chdir(shutil.copytree(repo, tmp_path / f"{number}"))
        argv = [*FAULTS, "0", str(number), *writer, "x", "1"]
        return subprocess.run(argv, stdout=subprocess.DEVNULL).returncode

    assert killed(0) == 0
    last = int(calls.read_text())
    for number in range(1, last + 1, 1 if LONG else -(-last // KILLS)):
        assert killed(number) == -signal.SIGKILL
        there(oids)
        there([*oids, *written("the same 0", "the next")])


def test_many_processes_write_and_join_while_git_packs_and_prunes(writer: list[str]) -> None:
    git("commit", "-q", "--allow-empty", "-m", "x")
    running = [
        subprocess.Popen(
            [sys.executable, *writer, str(n), str(ROUNDS)], stdout=subprocess.PIPE, text=True
        )
        for n in range(PROCESSES)
    ]
    while any(one.poll() is None for one in running):
        git("gc", "-q", "--prune=now")
        git("repack", "-adfq")
    oids = [oid for one in running for oid in one.communicate()[0].split()]
    assert [one.returncode for one in running] == [0] * PROCESSES
    assert len(oids) == 3 * PROCESSES * ROUNDS
    there(oids)
    names = os.listdir(".git/objects/pack")
    assert len([name for name in names if name.endswith(".keep")]) <= packs.MOST + 1
