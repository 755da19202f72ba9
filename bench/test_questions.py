"""What a person waits for: questions in a repository of thousands of files in which many sessions
have open work, beside the start of a command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.budgets import Budget, table
from bench.conftest import make_template
from bench.session import Session
from bench.test_hooks import turn

ROUNDS = max(2, int(os.environ.get("ROUNDS", "30")) // 3)
FILES, OTHERS = 3_000, 20
START = "gitcp --version"
QUESTIONS = (
    ("status",),
    ("rewind", "--list"),
    ("sessions",),
    ("blame", "dir01/file015.py"),
    ("why", "dir01/file015.py:41"),
)
BUDGET = Budget(times=3.1, floor=START)


@pytest.fixture
def busy(tmp_path: Path) -> Session:
    """FILES files, a session with commits and a turn in progress, and OTHERS with a file each."""
    session = Session(make_template(tmp_path / "template", FILES), tmp_path / "busy")
    for at in (1, 2, 3):
        turn(session, at)
    session.others(OTHERS)
    session.prompt()
    session.file_tool(session.repo / "dir01" / "file015.py")
    session.stop()
    return session


def test_questions(busy: Session) -> None:
    rows = table(f"questions, {FILES} files, {OTHERS + 1} sessions")
    for count in range(ROUNDS + 1):
        costs = {question: busy.ask(*question) for question in (("--version",), *QUESTIONS)}
        if not count:
            continue  # what the first ones find is kept
        rows.starts(busy.repo)
        rows.add(START, costs["--version",])
        for question in QUESTIONS:
            rows.add(" ".join(question), costs[question], BUDGET)
