"""Two sessions of the journal's tests, and processes beside them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.support.harness import World


@pytest.fixture
def child(world: World) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that a test starts; none of them outlives it."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()
