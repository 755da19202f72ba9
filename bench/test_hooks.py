"""What hooks cost a person and an agent in a repository of 300 files, against their budgets."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.budgets import Budget, Cost, Table, run, table
from bench.session import Session, quietly
from tests.guard.working_copies import jj_folder

ROUNDS = int(os.environ.get("ROUNDS", "30"))
GUARDS = {"off": Budget(5), "warn": Budget(6.5), "deny": Budget(6.5)}
# A shell's two ends look at the worktree, at 2 P each.
TURN = {"prompt": Budget(3.8), "shell, both hooks": Budget(8.5), "stop": Budget(5.4)}
COMMIT = Budget(9.5)
LEFTOVER = (300, 1000, 5000)


def turn(session: Session, at: int = 1) -> dict[str, Cost]:
    """A turn, then its commit: what each row cost."""
    costs = {"prompt": session.prompt()}
    files = [session.repo / f"dir{n:02}" / f"file{n * 15:03}.py" for n in range(at, at + 3)]
    calls = [session.file_tool(file) for file in files]
    costs["file tool, both hooks"] = calls[-1]
    costs["shell, both hooks"] = session.shell(session.repo / f"new{session.turn}.py")
    session.talk()
    costs["stop"] = session.stop()
    costs["commit"] = session.commit()
    return costs


def test_hooks(template: Path, tmp_path: Path) -> None:
    rows = table("hooks, 300 files")
    sessions = {guard: Session(template, tmp_path / guard) for guard in GUARDS}
    for guard, session in sessions.items():
        quietly("git", "config", "gitcp.guard", guard, cwd=session.repo)
    plain = Path(shutil.copytree(template, tmp_path / "plain"))
    for count in range(ROUNDS + 1):
        costs = {guard: turn(session) for guard, session in sessions.items()}
        alone = append(plain)
        if count:  # the first round warms up
            rows.starts(plain)
            rows.add("git commit without hooks", alone)
            for guard, budget in GUARDS.items():
                _rows(rows, guard, costs[guard], budget)


def _rows(rows: Table, guard: str, costs: dict[str, Cost], pair: Budget) -> None:
    rows.add(f"file tool, both hooks, guard {guard}", costs["file tool, both hooks"], pair)
    if guard == "warn":  # as it is by default
        for name, budget in TURN.items():
            rows.add(name, costs[name], budget)
        rows.add("git commit", costs["commit"], COMMIT)


def test_jj(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file tool in a jj workspace that is no git worktree, where the guard denies by default."""
    folder = jj_folder()
    if not folder:
        pytest.skip("jj is not installed: .ci/get-jj provides one")
    monkeypatch.setenv("PATH", folder + os.pathsep + os.environ["PATH"])
    monkeypatch.setenv("JJ_CONFIG", os.devnull)
    rows = table("jj, 300 files")
    files = shutil.copytree(template, tmp_path / "files", ignore=shutil.ignore_patterns(".git"))
    quietly("jj", "git", "init", "--no-colocate", cwd=files)
    quietly("jj", "commit", "-m", "first", cwd=files)
    session = Session(files, tmp_path / "jj")
    session.prompt()
    for count in range(ROUNDS + 1):
        pair = session.file_tool(session.repo / "dir01" / f"file{15 + count % 3:03}.py")
        if count:
            rows.starts(session.repo)
            rows.add("file tool, both hooks", pair, Budget(8))


def append(repo: Path) -> Cost:
    """A commit that no session has a part in."""
    with (repo / "dir06" / "file090.py").open("a") as f:
        f.write("another line\n")
    return run(("git", "commit", "-q", "-a", "-m", "work"), repo)


def test_growth(template: Path, tmp_path: Path) -> None:
    """Sessions of the past, open or not, and a transcript of 5 MB, beside one small session."""
    rows = table("growth, 300 files")
    sessions = {
        "": Session(template, tmp_path / "one"),
        ", 100 stored sessions": Session(template, tmp_path / "hundred"),
        ", 500 stored sessions": Session(template, tmp_path / "many"),
        ", a transcript of 5 MB": Session(template, tmp_path / "long", 5250),
        ", attributes": Session(template, tmp_path / "attributes"),
    }
    sessions[", attributes"].attributes()
    for count in LEFTOVER:
        name = f", {count} leftover sessions"
        sessions[name] = Session(template, tmp_path / f"left{count}")
        sessions[name].leftover(count)
    for count, name in ((100, ", 100 stored sessions"), (500, ", 500 stored sessions")):
        sessions[name].stored(count)
    for count in range(max(2, ROUNDS // 3) + 1):
        for name, session in sessions.items():
            costs = turn(session)
            for row in ("prompt", "stop", "commit") if count else ():
                rows.add(row + name, costs[row], _grown(row, name))
        if count:
            rows.starts(sessions[""].repo)


def _grown(row: str, name: str) -> Budget | None:
    return Budget(times=1.2, floor=row) if name else None


def test_no_session(template: Path, tmp_path: Path) -> None:
    """Hooks of a repository in which no session is open start no Python."""
    rows = table("no session, 300 files")
    plain = Path(shutil.copytree(template, tmp_path / "plain"))
    session = Session(template, tmp_path / "enabled")
    for _ in range(ROUNDS):
        rows.starts(plain)
        rows.add("git commit without hooks", append(plain))
        budget = Budget(1, 1, "git commit without hooks")
        rows.add("git commit with hooks", append(session.repo), budget)
    refs = subprocess.check_output(["git", "for-each-ref", "refs/heads/entire"], cwd=session.repo)

    assert not refs
