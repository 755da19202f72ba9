"""Recordings that are played once for all tests that look at what they left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.recorded import Played, Recorded
from tests.support.sealed import environment

Plays = Callable[[str], Played]


@pytest.fixture(scope="session")
def _plays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plays]:
    plays: dict[str, Played] = {}

    def play(name: str) -> Played:
        if name not in plays:
            at = tmp_path_factory.mktemp("played")
            (at / "home").mkdir()
            agent, _, scenario = name.partition("/")
            with environment(HOME=str(at / "home")):
                plays[name] = Played(Recorded(at, agent, scenario))
        return plays[name]

    yield play


@pytest.fixture
def played(_plays: Plays, monkeypatch: pytest.MonkeyPatch) -> Plays:
    """agent/scenario -> the recording as it was when its last event was over."""

    def play(name: str) -> Played:
        one = _plays(name)
        one.restore()
        monkeypatch.setenv("HOME", str(one.repo.home))
        return one

    return play
