"""Hooks in a repository of 100,000 files: a turn's end beside git status, a commit beside one
without hooks.  The budgets: 1.3 times the floor, and 40 ms (turn's end) or 75 ms (commit)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.repos import file, generated
from bench.session import Session, quietly

FILES, ROUNDS = 100_000, 7


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One session in a copy of the repository: it is too large to copy for each row."""
    found = Session(generated(FILES), tmp_path_factory.mktemp("large"))
    quietly("git", "config", "user.name", "x", cwd=found.repo)
    quietly("git", "config", "user.email", "x@example.com", cwd=found.repo)
    quietly("git", "status", cwd=found.repo)  # a copy has other inodes than its index says
    found.hook("SessionStart", source="startup")
    yield found


def edit(session: Session) -> None:
    """Three changed files and a new one, as a tool tells of them."""
    for n in (10, 50_000, 99_999):
        with file(session.repo, n).open("a") as f:
            f.write(f"turn {session.turn}\n")
    new = session.repo / f"new{session.turn}.py"
    new.write_text(f"turn {session.turn}\n")
    given = {"file_path": str(new), "content": ""}
    tool = {"tool_name": "Write", "tool_use_id": f"toolu_{session.turn}", "tool_input": given}
    session.hook("PreToolUse", **tool)
    session.hook("PostToolUse", **tool, tool_response={"type": "create"})


def turn(session: Session) -> None:
    session.prompt()
    edit(session)


@pytest.mark.benchmark(group="a turn's end, 100,000 files")
def test_git_status(benchmark: Any, session: Session) -> None:
    argv = ("git", "--no-optional-locks", "status", "--porcelain", "-z", "-uall")
    benchmark.pedantic(lambda: quietly(*argv, cwd=session.repo), rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.benchmark(group="a turn's end, 100,000 files")
def test_turn_end(benchmark: Any, session: Session) -> None:
    # The copy was seconds old at the first start: too young for its stat data to be believed.
    session.hook("SessionStart", source="resume")
    benchmark.pedantic(session.stop, setup=lambda: turn(session), rounds=ROUNDS, warmup_rounds=1)
    refs = ("git", "for-each-ref", "--format=%(refname)", "refs/heads/entire")
    assert subprocess.check_output(refs, cwd=session.repo, text=True).count("-e3b0c4") == 1


@pytest.mark.benchmark(group="git commit, 100,000 files")
def test_commit_without_hooks(benchmark: Any, session: Session) -> None:
    commits(benchmark, session, "-c", "core.hooksPath=/dev/null")


@pytest.mark.benchmark(group="git commit, 100,000 files")
def test_commit_with_hooks(benchmark: Any, session: Session) -> None:
    commits(benchmark, session)
    last = subprocess.check_output(["git", "log", "-1", "--format=%B"], cwd=session.repo)
    assert b"Entire-Checkpoint: " in last


def commits(benchmark: Any, session: Session, *options: str) -> None:
    def prepare() -> None:
        turn(session)
        session.stop()
        quietly("git", "add", "-u", cwd=Path(session.repo))
        quietly("git", "add", f"new{session.turn}.py", cwd=session.repo)

    def commit() -> None:
        quietly("git", *options, "commit", "-q", "-m", "work", cwd=session.repo)

    benchmark.pedantic(commit, setup=prepare, rounds=ROUNDS, warmup_rounds=1)
