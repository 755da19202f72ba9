"""What hooks cost a person and an agent, against the floor measured in the same run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.session import TOP, Session, quietly
from gitcp import commands

ROUNDS = 15
NAMES = sorted({**commands.STAGES, **commands.TOOLS})


def python(*args: str) -> None:
    quietly(sys.executable, *args, cwd=TOP)


@pytest.mark.benchmark(group="start of a command (-h)")
def test_python_alone(benchmark: Any) -> None:
    benchmark.pedantic(python, ("-c", "pass"), rounds=ROUNDS)


@pytest.mark.benchmark(group="start of a command (-h)")
@pytest.mark.parametrize("name", NAMES)
def test_start_of(benchmark: Any, name: str) -> None:
    benchmark.pedantic(python, (str(TOP / "bin" / f"gitcp-{name}"), "-h"), rounds=5)


@pytest.mark.benchmark(group="hooks of an agent, 300 files")
def test_python_without_site(benchmark: Any) -> None:
    benchmark.pedantic(python, ("-I", "-S", "-c", "pass"), rounds=ROUNDS)


@pytest.mark.benchmark(group="hooks of an agent, 300 files")
def test_turn_start(benchmark: Any, template: Path, tmp_path: Path) -> None:
    session = Session(template, tmp_path)
    benchmark.pedantic(session.prompt, rounds=ROUNDS)


@pytest.mark.benchmark(group="hooks of an agent, 300 files")
@pytest.mark.parametrize("megabytes", [0, 5])
def test_turn_end_with_a_transcript_of_megabytes(
    benchmark: Any, template: Path, tmp_path: Path, megabytes: int
) -> None:
    session = Session(template, tmp_path, megabytes * 1050 or 40)

    def work() -> None:
        session.prompt()
        session.edit()

    benchmark.pedantic(session.stop, setup=work, rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.benchmark(group="hooks of an agent, 300 files")
@pytest.mark.parametrize("guard", ["off", "warn", "deny"])
def test_tool_start_and_tool_end(
    benchmark: Any, template: Path, tmp_path: Path, guard: str
) -> None:
    session = Session(template, tmp_path)
    quietly("git", "config", "gitcp.guard", guard, cwd=session.repo)
    session.prompt()
    benchmark.pedantic(session.edit, rounds=ROUNDS)


@pytest.mark.benchmark(group="git commit, 300 files")
def test_plain_commit(benchmark: Any, template: Path, tmp_path: Path) -> None:
    repo = Path(shutil.copytree(template, tmp_path / "plain"))
    commits(benchmark, repo, lambda: append(repo))


@pytest.mark.benchmark(group="git commit, 300 files")
def test_commit_with_hooks_and_no_session(benchmark: Any, template: Path, tmp_path: Path) -> None:
    session = Session(template, tmp_path)
    commits(benchmark, session.repo, lambda: append(session.repo))


@pytest.mark.benchmark(group="git commit, 300 files")
@pytest.mark.parametrize("stored", [0, 100, 500])
def test_commit_of_a_session_beside_stored_sessions(
    benchmark: Any, template: Path, tmp_path: Path, stored: int
) -> None:
    session = Session(template, tmp_path)
    session.stored(stored)
    commits(benchmark, session.repo, lambda: turn(session), linked=True)


@pytest.mark.benchmark(group="git commit, 300 files")
def test_commit_of_a_session_with_a_transcript_of_5_megabytes(
    benchmark: Any, template: Path, tmp_path: Path
) -> None:
    session = Session(template, tmp_path, 5250)
    commits(benchmark, session.repo, lambda: turn(session), linked=True)


def append(repo: Path) -> None:
    with (repo / "dir01" / "file015.py").open("a") as f:
        f.write("another line\n")


def turn(session: Session) -> None:
    session.prompt()
    session.edit()
    session.stop()


def commits(benchmark: Any, repo: Path, work: Any, linked: bool = False) -> None:
    """Time `git commit`; work and `git add` come before each."""

    def prepare() -> None:
        work()
        quietly("git", "add", "-A", cwd=repo)

    def commit() -> None:
        quietly("git", "commit", "-q", "-m", "work", cwd=repo)

    benchmark.pedantic(commit, setup=prepare, rounds=ROUNDS, warmup_rounds=1)
    last = subprocess.check_output(["git", "log", "-1", "--format=%B"], cwd=repo, text=True)
    assert ("Entire-Checkpoint: " in last) is linked  # or it was not our work that was timed
