"""Two sessions of the journal's tests."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("session-a")


@pytest.fixture
def b(world: World) -> Agent:
    return world.agent("session-b")
