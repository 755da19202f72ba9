"""What a row of the bench may cost, and the table of what each did cost.

P is one start of Python without site.  Rows and their floors are measured in turns, so that a
busy moment of the machine falls on all of them.  What is held against a budget is the processor
time of the process and all its children, which a busy machine changes least; nothing asserts it.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

P = "P"
START = (sys.executable, "-I", "-S", "-c", "pass")


class Cost(NamedTuple):
    """Seconds of one run: by the clock, and of processor time with all children."""

    wall: float
    cpu: float

    def __add__(self, more: object) -> Cost:
        """What two runs cost together."""
        assert isinstance(more, Cost)
        return Cost(self.wall + more.wall, self.cpu + more.cpu)


class Budget(NamedTuple):
    """At most so many P, and so many times what another row costs, and so many seconds."""

    starts: float = 0.0
    times: float = 0.0
    floor: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        """As the table has it: `1.3 x git status + 5 P`."""
        parts = [f"{self.times:g} x {self.floor}"] if self.times else []
        parts += [f"{self.starts:g} P"] if self.starts else []
        return " + ".join([*parts, *([f"{self.seconds:g} s"] if self.seconds else [])])


def run(argv: tuple[str, ...], cwd: Path, stdin: bytes = b"") -> Cost:
    """Run a program that must succeed; what it cost."""
    with tempfile.TemporaryFile() as given, open(os.devnull, "wb") as nothing:
        given.write(stdin)
        given.seek(0)
        ends = ((given.fileno(), 0), (nothing.fileno(), 1))
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in ends]
        before = os.getcwd()
        os.chdir(cwd)
        began = time.perf_counter()
        pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions, setsid=True)
        _, status, used = os.wait4(pid, 0)
        wall = time.perf_counter() - began
        os.chdir(before)
    if status:
        raise RuntimeError(f"{argv} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(wall, used.ru_utime + used.ru_stime)


class Table:
    """The rows of one title, each with its runs and its budget."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._runs: dict[str, list[Cost]] = {}
        self._budgets: dict[str, Budget] = {}

    def add(self, name: str, cost: Cost, budget: Budget | None = None) -> None:
        """One more run of a row."""
        self._runs.setdefault(name, []).append(cost)
        if budget:
            self._budgets[name] = budget

    def measured(self) -> bool:
        """Whether there is anything to show."""
        return P in self._runs

    def starts(self, cwd: Path) -> None:
        """One more P."""
        self.add(P, run(START, cwd))

    def cpu(self, name: str) -> float:
        """The median processor time of a row, in seconds."""
        return statistics.median(cost.cpu for cost in self._runs[name])

    def over(self) -> list[str]:
        """Those rows that cost more than they may."""
        return [self._line(name) for name in self._budgets if self.cpu(name) > self._most(name)]

    def lines(self) -> list[str]:
        """The table: a row's processor time in P, its time by the clock in P, its budget."""
        one = statistics.median(cost.wall for cost in self._runs[P])
        head = f"{self.title}: P is {self.cpu(P) * 1e3:.1f} ms of processor, {one * 1e3:.1f} ms"
        return [head, *(f"  {self._line(name)}" for name in self._runs if name != P)]

    def _most(self, name: str) -> float:
        budget = self._budgets[name]
        floor = budget.times * self.cpu(budget.floor) if budget.times else 0.0
        return floor + budget.starts * self.cpu(P) + budget.seconds

    def _line(self, name: str) -> str:
        wall = statistics.median(cost.wall for cost in self._runs[name])
        clock = wall / statistics.median(cost.wall for cost in self._runs[P])
        line = f"{name:44} {self.cpu(name) / self.cpu(P):6.2f} P {clock:7.2f} P by the clock"
        budget = self._budgets.get(name)
        return f"{line}   budget {budget}" if budget else line


TABLES: list[Table] = []


def table(title: str) -> Table:
    """A new table, printed at the end of the bench."""
    TABLES.append(Table(title))
    return TABLES[-1]


def report() -> list[str]:
    """Every table."""
    return [line for one in TABLES if one.measured() for line in ["", *one.lines()]]


def over() -> list[str]:
    """The rows of all tables that are over their budgets, each behind the title of its table."""
    measured = [one for one in TABLES if one.measured()]
    return [f"  {one.title}: {line}" for one in measured for line in one.over()]
