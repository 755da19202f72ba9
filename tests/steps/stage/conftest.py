"""Two sessions in a repository with a file of ten lines."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World

BASE = "".join(f"line {n} of the file\n" for n in range(1, 11))


@pytest.fixture
def a(world: World) -> Agent:
    world.write("f.txt", BASE)
    world.commit()
    agent = world.agent("11111111-aaaa-4a87-9186-848bdd83d62e")
    agent.start()
    return agent


@pytest.fixture
def b(world: World, a: Agent) -> Agent:
    agent = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e")
    agent.start()
    return agent
