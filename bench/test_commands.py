"""How long a command takes to start."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from bench.session import TOP, quietly
from gitcp import commands

NAMES = sorted({**commands.STAGES, **commands.TOOLS})
GROUP = "start of a command (-h)"


def python(*args: str) -> None:
    quietly(sys.executable, *args, cwd=TOP)


@pytest.mark.benchmark(group=GROUP)
def test_python_alone(benchmark: Any) -> None:
    benchmark.pedantic(python, ("-c", "pass"), rounds=15)


@pytest.mark.benchmark(group=GROUP)
@pytest.mark.parametrize("name", NAMES)
def test_start_of(benchmark: Any, name: str) -> None:
    benchmark.pedantic(python, (str(TOP / "bin" / f"gitcp-{name}"), "-h"), rounds=5)
