"""A story that many tests begin with, told once in a module: each goes on from its end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.harness import Agent, World

SID = "11111111-aaaa-4a87-9186-848bdd83d62e"
Tell = Callable[[Agent], object]


class Stories:
    """Worlds at one place, which what they record names, with one agent at work."""

    def __init__(self, ground: Path, at: Path) -> None:
        self._ground, self._at = ground, at
        home = at / "now" / "home"
        self._first = World(at / "now" / "repo", home, {"HOME": str(home)})
        self._told: dict[str, Agent] = {}

    def after(self, tell: Tell) -> Agent:
        """The agent after a story, in a world that nobody else has touched."""
        name = tell.__name__
        now, kept = self._at / "now", self._at / name
        shutil.rmtree(now, ignore_errors=True)
        if name not in self._told:
            now.mkdir()
            (now / "home").mkdir()
            shutil.copytree(self._ground, now / "repo")
            agent = self._first.agent(SID)
            tell(agent)
            shutil.copytree(now, kept, symlinks=True)
            self._told[name] = agent
        else:
            shutil.copytree(kept, now, symlinks=True)
        world = World(self._first.path, self._first.home, self._first.env)
        return replace(self._told[name], world=world)

    def close(self) -> None:
        self._first.close()


@pytest.fixture(scope="module")
def stories(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    """What is told once in this module."""
    made = Stories(ground, tmp_path_factory.mktemp("stories"))
    yield made
    made.close()


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent(SID)
