"""What hooks and questions cost beside what grows: files that git does not have, refs, a long
conversation, open sessions; each row beside the same in a repository that has none of it."""

from __future__ import annotations

import os
from pathlib import Path

from bench.against import AGAINST, unpack
from bench.budgets import Budget, Cost, Table, run, table
from bench.session import Session
from bench.test_hooks import turn

ROUNDS = max(2, int(os.environ.get("ROUNDS", "30")) // 6)
LONG = bool(os.environ.get("LONG"))
UNTRACKED = DIRTY = REFS = 5_000
OPEN = 200 if LONG else 40
CONVERSATION = 200 if LONG else 20  # MB
# By what grows: how many times the row without it, and the P beside, each row may cost.
BUDGETS = {
    f", {UNTRACKED} untracked files": Budget(times=2, starts=3),
    f", {DIRTY} dirty files": Budget(times=3, starts=3),
    f", {REFS} loose refs": Budget(times=1, starts=1.5),
    f", a conversation of {CONVERSATION} MB": Budget(times=1.2),
    f", {OPEN} open sessions": Budget(times=1.5),
}
# The same work by another commit.
SLIP = 1.03


def test_what_grows(template: Path, tmp_path: Path) -> None:
    rows = table(f"beside what grows, {UNTRACKED} files or refs")
    alone = Session(template, tmp_path / "alone")
    sessions = {"": alone}
    for title in BUDGETS:
        lines = 1_000 * CONVERSATION if "conversation" in title else 40
        sessions[title] = Session(template, tmp_path / title.split()[-2], lines)
    untracked, dirty, refs, _, opened = (sessions[title] for title in BUDGETS)
    untracked.untracked(UNTRACKED)
    dirty.dirty(DIRTY)
    refs.refs(REFS)
    opened.others(OPEN)
    for count in range(ROUNDS + 1):
        for title, session in sessions.items():
            costs = work(session)
            if count:  # the first round reads what is there
                add(rows, title, costs)
        rows.starts(alone.repo)


def work(session: Session) -> dict[str, Cost]:
    """What a turn, its commit, and questions about it cost."""
    costs = turn(session)
    costs["status"] = session.ask("status")
    costs["git status"] = run(("git", "status", "--porcelain", "-uall"), session.repo)
    costs["why"] = session.ask("why", "dir01/file015.py:41")
    return costs


def add(rows: Table, title: str, costs: dict[str, Cost]) -> None:
    for row, cost in costs.items():
        budget = None
        if title and row != "git status":
            most = BUDGETS[title]
            budget = Budget(times=most.times, starts=most.starts, floor=row)
        rows.add(row + title, cost, budget)


def test_against_another_commit(template: Path, tmp_path: Path) -> None:
    if not AGAINST:
        return
    rows = table(f"beside {AGAINST}, 300 files")
    new = Session(template, tmp_path / "new")
    old = Session(template, tmp_path / "old", top=unpack(AGAINST))
    for session in (new, old):
        session.attributes()
    for count in range(3 * ROUNDS + 1):
        costs_by_title = {"": work(new), f", {AGAINST}": work(old)}
        if not count:
            continue
        rows.starts(new.repo)
        for row, cost in costs_by_title[""].items():
            budget = Budget(times=SLIP, floor=f"{row}, {AGAINST}")
            rows.add(row, cost, budget)
            rows.add(f"{row}, {AGAINST}", costs_by_title[f", {AGAINST}"][row])
