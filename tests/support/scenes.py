"""A beginning that many tests share: made once, and put back in its place for each of them."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.copies import plant
from tests.support.harness import World
from tests.support.sealed import environment

T = TypeVar("T")


class Scenes:
    """The beginnings of a run of tests, by the function that makes each of a world."""

    def __init__(self, ground: Path, factory: pytest.TempPathFactory) -> None:
        self._ground, self._factory = ground, factory
        self._scenes: dict[Callable[[World], Any], Scene] = {}

    def play(self, make: Callable[[World], T], monkeypatch: pytest.MonkeyPatch) -> Iterator[T]:
        """What make() returned, in the world as it then was; the body of a fixture."""
        if make not in self._scenes:
            at = self._factory.mktemp("scene").resolve()
            self._scenes[make] = Scene(self._ground, at, make)
        yield from self._scenes[make].put_back(monkeypatch)

    def close(self) -> None:
        for scene in self._scenes.values():
            scene.world.close()


class Scene:
    """A world, and its folder as it was when make() had ended.

    It keeps its place, so that each path in it stays true; the processes of its agents live on.
    """

    def __init__(self, ground: Path, at: Path, make: Callable[[World], Any]) -> None:
        self._at, self._copy = at / "here", at / "as-it-was"
        home = self._at / "home"
        home.mkdir(parents=True)
        self.world = World(plant(ground, self._at / "repo"), home)
        with environment(HOME=str(home), TMPDIR=str(at)):
            self._made = make(self.world)
        shutil.copytree(self._at, self._copy, symlinks=True)
        self._fresh = True

    def put_back(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
        if not self._fresh:
            shutil.rmtree(self._at)
            plant(self._copy, self._at)
        self._fresh = False
        monkeypatch.setenv("HOME", str(self.world.home))
        world = World(self.world.path, self.world.home, dict(self.world.env))
        yield copy.deepcopy(self._made, {id(self.world): world})
        world.close()
