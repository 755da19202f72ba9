"""What a person asks in a jj workspace that is no git worktree, and what is said without jj."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.git.jj import add_workspace
from tests.guard.working_copies import Copy
from tests.support import warm

NewCopy = Callable[[str], Copy]


@pytest.fixture
def copy(new_copy: NewCopy) -> Copy:
    """A working copy of jj alone, in which a session has changed a file in a directory."""
    copy = new_copy("non-colocated")
    a, _ = copy.pair()
    a.write("src/app.py", "by A\n")
    a.stop()
    return copy


@pytest.mark.parametrize("where", [".", "src"])
def test_blame_and_why_answer_where_no_git_sees_the_worktree(copy: Copy, where: str) -> None:
    file = os.path.relpath(copy.path / "src" / "app.py", copy.path / where)
    for name, args in (("blame", [file]), ("why", [f"{file}:1"])):
        done = warm.run(name, *args, cwd=copy.path / where)
        assert (done.returncode, done.stderr) == (0, "") and "by A" in done.stdout, done


def test_hooks_are_not_missed_where_git_runs_none(copy: Copy) -> None:
    assert warm.run("doctor", cwd=copy.path).returncode == 0
    assert "hooks" not in warm.run("status", cwd=copy.path).stdout
    a, _ = copy.pair()
    assert "hooks" not in a.start().said


def test_lines_of_a_person_whom_jj_knows_by_another_address_are_recorded(copy: Copy) -> None:
    a, _ = copy.pair()
    a.start()
    copy.write("own.txt", "mine\n")
    copy.jj("commit", "-m", "own work", "own.txt")
    done = warm.run("blame", "--json", "own.txt", cwd=copy.path)
    assert json.loads(done.stdout)["who"] == "person"


def without_jj(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = os.environ["PATH"].split(os.pathsep)
    found = [folder for folder in folders if not (Path(folder) / "jj").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(found))


def test_jj_is_found_where_it_was_when_gitcp_was_enabled(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_jj(monkeypatch)
    a, _ = copy.pair()
    a.prompt("go on")
    a.write("b.txt", "more\n")
    a.stop()
    assert "b.txt" in a.state["files_touched"]


def test_a_session_that_cannot_be_recorded_for_want_of_jj_is_told_so(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_jj(monkeypatch)
    root, store = os.path.realpath(copy.path), os.path.realpath(copy.store)
    add_workspace({"root": root, "jj": "/gone/jj", "store": store, "name": ""})
    a, _ = copy.pair()
    want = f"jj is not on PATH: nothing is recorded in the workspace '{copy.path}'"
    assert a.start().said == f"gitcp: {want}"
    assert a.prompt("go on").said == ""
    done = warm.run("status", cwd=copy.path)
    assert (done.returncode, done.stderr) == (128, f"fatal: {want}\n")


@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
def test_auto_commit_makes_no_commit_in_jj_and_says_so(new_copy: NewCopy, kind: str) -> None:
    copy = new_copy(kind)
    copy.set("gitcp.strategy", "auto-commit")
    a, _ = copy.pair()
    before = copy.jj("log", "--no-graph", "-r", "::@", "-T", "commit_id")
    want = "gitcp.strategy = auto-commit does not hold in jj: turns end with a checkpoint"
    assert want in a.start().said
    a.write("a.txt", "by A\n")
    a.stop()
    assert a.state["files_touched"] == ["a.txt"]
    after = copy.jj("--ignore-working-copy", "log", "--no-graph", "-r", "::@", "-T", "commit_id")
    assert after == before
    assert want in warm.run("doctor", cwd=copy.path).stdout
