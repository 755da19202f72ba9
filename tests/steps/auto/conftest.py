"""A world in which turns are committed, and an agent in it."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World


@pytest.fixture
def auto(world: World) -> World:
    world.git("config", "gitcp.strategy", "auto-commit")
    return world


@pytest.fixture
def a(auto: World) -> Agent:
    return auto.agent("session-a")
