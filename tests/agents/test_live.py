"""Real clients at work in a repository that `gitcp enable` set up for them."""

from __future__ import annotations

import pytest

from tests.support.clients.real import TOOLS, Client, write_file
from tests.support.harness import World


@pytest.mark.parametrize(("name", "agent"), [("pi", "pi"), ("droid", "factory-droid")])
def test_what_a_real_client_writes_is_linked_with_what_it_was_asked_and_its_model(
    world: World, name: str, agent: str
) -> None:
    client = Client(name, world.path, world.home, [write_file(world.path, name, "new.txt", "1\n")])
    world.gitcp("enable", f"--agent={agent}")
    try:
        client.run("Write new.txt")
    finally:
        client.model.close()
    assert world.read("new.txt") == "1\n"
    world.commit("new.txt")
    assert len(world.ids("HEAD")) == 1
    text = world.gitcp("show", "--full", "HEAD")
    assert "[User] Write new.txt" in text and f"[Tool] {TOOLS[name]}: " in text
    assert "prompt:\n    Write new.txt" in world.gitcp("why", "new.txt:1")
