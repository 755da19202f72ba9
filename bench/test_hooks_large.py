"""Hooks in a repository of 100,000 files: a turn's end beside git status, a commit beside one
without hooks; the tools' hooks cost what they cost in a small one.  `make bench-long` alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bench.budgets import Budget, Cost, Table, run, table
from bench.repos import file, generated
from bench.session import Session, quietly

FILES = 100_000
ROUNDS = int(os.environ.get("ROUNDS", "30")) // 3
STATUS = ("git", "--no-optional-locks", "status", "--porcelain", "-z", "-uall")

pytestmark = pytest.mark.skipif(not os.environ.get("LONG"), reason="make bench-long")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session in a copy of the repository: it is too large to copy for each row."""
    session = Session(generated(FILES), tmp_path_factory.mktemp("large") / "one")
    _as_new(session.repo)
    session.hook("SessionStart", source="startup")
    return session


def _as_new(repo: Path) -> None:
    quietly("git", "config", "user.name", "x", cwd=repo)
    quietly("git", "config", "user.email", "x@example.com", cwd=repo)
    quietly("git", "status", cwd=repo)  # a copy has other inodes than its index says


def test_hooks_in_100000_files(session: Session, tmp_path: Path) -> None:
    plain = Path(shutil.copytree(session.repo, tmp_path / "plain"))
    _as_new(plain)
    quietly("git", "config", "core.hooksPath", os.devnull, cwd=plain)
    rows = table("hooks, 100,000 files")
    (session.repo / ".git/gitcp/cache/index").unlink()
    run(STATUS, session.repo)  # the copy has pushed its files out of memory
    start = session.hook("SessionStart", source="resume")
    rows.add("session-start, which seeds our index", start, Budget(0, 2.2, "git status"))
    first = session.prompt()
    measure(rows, session, plain)
    rows.add("the first prompt", first, Budget(0, 1.6, "git status"))
    session.originals(100)
    measure(table("hooks, 100,000 files, 100 sessions of the original's"), session, plain)


def measure(rows: Table, session: Session, plain: Path) -> None:
    """Turns and their commits, beside git's own work."""
    for count in range(ROUNDS + 1):
        status = run(STATUS, session.repo)
        prompt = session.prompt()
        pair = [session.file_tool(file(session.repo, n)) for n in (10, 50_000, 99_999)][-1]
        shell = session.shell(session.repo / f"new{session.turn}.py")
        session.talk()
        stop = session.stop()
        commit = session.commit()
        alone = append(plain)
        if not count:
            continue
        rows.starts(plain)
        rows.add("git status", status)
        rows.add("git commit without hooks", alone)
        rows.add("prompt", prompt, Budget(0, 1.2, "git status"))
        rows.add("file tool, both hooks", pair, Budget(6.5))
        rows.add("shell, both hooks", shell, Budget(6.5))
        rows.add("stop", stop, Budget(0, 1.2, "git status"))
        rows.add("git commit", commit, Budget(0, 1.2, "git commit without hooks", 0.06))


def append(repo: Path) -> Cost:
    """A commit of four files that runs no hook."""
    for n in (11, 50_001, 99_998, 7):
        with file(repo, n).open("a") as f:
            f.write("another line\n")
    quietly("git", "add", "-u", cwd=repo)
    return run(("git", "commit", "-q", "-m", "work"), repo)
