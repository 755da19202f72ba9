"""Tasks that read objects take turns: each gets what it asked for, in whatever way they end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.git.objects import Objects, cat_file
from gitcp.git.objects import reading as store_reading
from gitcp.git.objects.reading import run_tasks
from gitcp.git.repo import Repo
from tests.support.checkpoints import git, loosened
from tests.support.paths import TOP

MANY = 40


@pytest.fixture
def blobs(repo: Path) -> list[str]:
    with Objects(Repo.find()) as objects:
        oids = [objects.write("blob", b"%d" % n) for n in range(MANY)]
    loosened(Path(".git"))
    return oids


def reading(objects: Objects, oids: list[str]) -> store_reading.Steps[list[bytes | None]]:
    """A task of a step for each object."""
    contents = []
    for oid in oids:
        yield [oid]
        found = objects.read(oid)
        contents.append(found[2] if found else None)
    return contents


@pytest.mark.parametrize("at_once", [1, 400], ids=["more than fit at once", "all at once"])
def test_results_come_in_order_however_many_steps_a_task_takes(
    blobs: list[str], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(cat_file, "_WINDOW", at_once)
    lengths = [3, 0, 7, 1, 0, 2, 9, 1]
    with Objects(Repo.find()) as objects:
        tasks = [reading(objects, blobs[n : n + size]) for n, size in enumerate(lengths)]
        results = list(run_tasks(objects, tasks))
    assert results == [[b"%d" % (n + k) for k in range(size)] for n, size in enumerate(lengths)]


def test_the_first_result_is_there_before_a_second_task_is_begun(blobs: list[str]) -> None:
    begun = []

    def task(number: int) -> store_reading.Steps[list[bytes | None]]:
        begun.append(number)
        return reading(objects, blobs[number : number + 2])

    with Objects(Repo.find()) as objects:
        results = run_tasks(objects, map(task, range(4)))
        assert next(results) == [b"0", b"1"]
        assert begun == [0]
        assert list(results) == [[b"1", b"2"], [b"2", b"3"], [b"3", b"4"]]


def test_an_object_that_git_dies_of_is_missing_and_no_other_is(blobs: list[str]) -> None:
    broken = git("rev-parse", "--git-path", f"objects/{blobs[5][:2]}/{blobs[5][2:]}")
    os.chmod(broken, 0o644)
    Path(broken).write_bytes(b"no object")
    with Objects(Repo.find()) as objects:
        tasks = [reading(objects, blobs[n : n + 3]) for n in range(0, 12, 3)]
        results = [content for result in run_tasks(objects, tasks) for content in result]
        assert objects.read(blobs[20]) == (blobs[20], "blob", b"20")
    assert results == [None if n == 5 else b"%d" % n for n in range(12)]


def test_a_name_with_newlines_is_found_or_missing_and_no_answer_is_taken_for_another(
    repo: Path,
) -> None:
    for name in ("a\nb", "x blob 5\n\ny"):
        (repo / name).write_text(name)
    git("add", ".")
    git("commit", "-q", "-m", "odd names")
    names = ["a\nb", "a\nc", "README.md", "x blob 5\nz", "x blob 5\n\ny", "src/app.py"]
    want = [git("rev-parse", f"HEAD:{n}") if n in git("ls-files", "-z") else None for n in names]
    assert want.count(None) == 2
    with Objects(Repo.find()) as objects:
        assert list(objects.ahead.resolve(f"HEAD:{name}" for name in names).values()) == want
        for name, oid in zip(names, want, strict=True):
            found = objects.read(f"HEAD:{name}")
            assert (found and found[0]) == oid


def test_a_git_that_is_killed_between_two_questions_takes_no_command_along(repo: Path) -> None:
    """SIGPIPE ends a command whose reader has gone: git, which it asks, is none."""
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(TOP)!r})
from gitcp.git.repo import Repo
from gitcp.git.objects import Objects
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
with Objects(Repo.find()) as objects:
    commit = objects.read("HEAD")
    git = objects.ahead.get_batch()._run.pid
    os.kill(git, signal.SIGKILL)
    os.waitid(os.P_PID, git, os.WEXITED | os.WNOWAIT)
    print(objects.read("HEAD^{{tree}}")[1], objects.read("HEAD") == commit)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "tree True\n"), done.stderr
