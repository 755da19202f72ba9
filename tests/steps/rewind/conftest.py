"""The agent that works in the tests of rewind."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World

SID = "11111111-aaaa-4a87-9186-848bdd83d62e"


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent(SID)
