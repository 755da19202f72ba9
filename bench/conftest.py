"""A repository of the size the budgets speak of, and the tables at the end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench import budgets, growth
from tests.conftest import sealed, search_path  # noqa: F401  the same sealed world as for tests

FILES, HISTORY = 300, 100

# What is set for whoever writes Python is not what a person's Python does: it keeps its bytecode.
for name in [name for name in os.environ if name.startswith("PYTHON")]:
    del os.environ[name]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template"), FILES)


def make_template(path: Path, files: int) -> Path:
    """Make a repository of so many files in directories of 15, with a history of HISTORY commits;
    return its path."""
    for n in range(files):
        file = path / f"dir{n // 15:02}" / f"file{n:03}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"line {i} of {n}\n" for i in range(40)))
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "gc.auto=0"]
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *args], cwd=path, check=True)
    for n in range(HISTORY):
        (path / "dir19" / "file299.py").write_text(f"{n}\n")
        subprocess.run(["git", *who, "commit", "-q", "-a", "-m", f"{n}"], cwd=path, check=True)
    for args in (["gc", "-q"], ["config", "gc.auto", "0"]):
        subprocess.run(["git", *args], cwd=path, check=True)
    return path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: Any) -> None:
    """The rows of growing sizes; each group against its first row, which is its floor; the rows
    against their budgets, and what is over."""
    if growth.ROWS:
        terminalreporter.section("what grows, each size beside its budget")
        terminalreporter.write_line(f"P is {growth.start() * 1e3:.1f} ms of processor")
    for line in growth.ROWS:
        terminalreporter.write_line(line)
    groups: dict[str, list[Any]] = {}
    for bench in (one for one in config._benchmarksession.benchmarks if not one.has_error):
        groups.setdefault(bench.group or "", []).append(bench)
    if groups:
        terminalreporter.section("medians, and ratios to the first row of each group")
    for group, rows in groups.items():
        terminalreporter.write_line(f"\n{group}")
        floor = rows[0].stats.median
        for row in rows:
            name = row.name.removeprefix("test_").replace("_", " ")
            median = row.stats.median
            line = f"  {name:60} {median * 1e3:8.1f} ms {median / floor:7.2f} x"
            terminalreporter.write_line(line)
    if any(one.measured() for one in budgets.TABLES):
        terminalreporter.section("rows against their budgets")
        for line in budgets.report():
            terminalreporter.write_line(line)
    over = [*growth.OUTSIDE, *budgets.over()]
    if over or growth.ROWS:
        terminalreporter.section("outside of their budgets" if over else "all is within budget")
    for line in over:
        terminalreporter.write_line(line)
