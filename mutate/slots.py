"""Copies of the tree to mutate, and tests run in them: a forked process each, no start-up paid.

This process has imported pytest, and never the program: a child finds it in its copy.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis  # noqa: F401  loaded once, for every child
import pytest

PARTS = "gitcp tests bin man conftest.py pyproject.toml README.md".split()
FAILED = ("failed", "error")


@dataclass
class Report:
    """What a run of tests came to.  durations: seconds by test; calls: what each one entered."""

    failed: list[str] = field(default_factory=list)
    durations: dict[str, float] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class Slot:
    """One copy of the tree."""

    path: Path
    _clock: int = 0

    @classmethod
    def make(cls, top: Path, at: Path) -> Slot:
        at.mkdir(parents=True)
        for part in PARTS:
            if (top / part).is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(top / part, at / part, symlinks=True, ignore=ignore)
            else:
                shutil.copy2(top / part, at / part)
        return cls(at)

    def write(self, path: str, source: bytes) -> None:
        """Give a file other bytes, and a date of its own: no cached code is taken for it."""
        self._clock += 10
        file = self.path / path
        file.write_bytes(source)
        os.utime(file, (time.time() + self._clock,) * 2)
        for cached in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            cached.unlink()

    def start(self, tests: list[str], limit: float) -> Run:
        """Run tests here, at most limit seconds, until one fails."""
        # A file: what it says may be more than a pipe holds, and is read at its end.
        fd = os.open(self.path / "told", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        pid = os.fork()
        if pid:
            return Run(pid, fd, time.monotonic() + limit)
        status = 70
        try:
            os.setpgid(0, 0)
            status = _child(self.path, tests, fd)
        finally:
            os._exit(status)


@dataclass
class Run:
    """Tests under way in a process group of their own."""

    pid: int
    fd: int
    deadline: float

    def over(self) -> bool:
        """Whether it has ended; one that takes too long is made to."""
        done, _ = os.waitpid(self.pid, os.WNOHANG)
        if not done and time.monotonic() > self.deadline:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            done = self.pid
        return bool(done)

    def report(self) -> Report:
        """What it said before it ended; nothing at all counts as a failure."""
        os.lseek(self.fd, 0, os.SEEK_SET)
        with open(self.fd, encoding="utf-8") as f:
            lines = [line.rstrip("\n").split("\t") for line in f]
        report = Report()
        for test, outcome, seconds, *calls in lines:
            report.durations[test] = float(seconds)
            report.calls[test] = set(calls)
            if outcome in FAILED:
                report.failed.append(test)
        if not lines or lines[-1][0] != "end":
            report.failed.append("(did not end)")
        report.durations.pop("end", None)
        return report


def _child(top: Path, tests: list[str], write: int) -> int:
    os.chdir(top)
    sys.path[0] = str(top)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    watcher = _Watcher(write, top / "calls")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(top)]
    status = pytest.main([*options, *tests], plugins=[watcher])
    os.write(write, f"end\t{'passed' if status == 0 else 'failed'}\t0\n".encode())
    return 0


class _Watcher:
    """Tells of each test: its outcome, its time, the functions it entered (see instrumented)."""

    def __init__(self, fd: int, calls: Path) -> None:
        self.fd, self.calls = fd, calls

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome == "failed":
            parts = [report.nodeid, report.outcome, f"{report.duration:.4f}", *self._entered()]
            os.write(self.fd, ("\t".join(parts) + "\n").encode())

    def _entered(self) -> set[str]:
        if not self.calls.exists():
            return set()
        names = set(self.calls.read_text().split())
        self.calls.unlink()
        return names


Take = Callable[[Report], None]
Job = Callable[[Slot], tuple[Run, Take]]  # starts a run in a slot; what takes its report


def each(slots: list[Slot], jobs: Iterator[Job]) -> None:
    """Run the jobs, one in a slot at a time."""
    free, busy = list(slots), list[tuple[Slot, Run, Take]]()
    waiting = True
    while waiting or busy:
        while waiting and free:
            job = next(jobs, None)
            if job is None:
                waiting = False
            else:
                slot = free.pop()
                busy.append((slot, *job(slot)))
        ended = [item for item in busy if item[1].over()]
        for item in ended:
            busy.remove(item)
            item[2](item[1].report())
            free.append(item[0])
        if not ended:
            time.sleep(0.01)
