"""Many sessions at once, each event a real process, and a person who commits in between."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.copies import plant
from tests.support.harness import V1, Agent, World

SESSIONS, TURNS = (16, 25) if os.environ.get("LONG") else (4, 3)


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    made = World(plant(ground, tmp_path / "repo"), tmp_path / "home")
    # The dates of tests are long past, and git's own gc comes by in a long run.
    made.git("config", "gc.autoDetach", "false")
    made.git("config", "gc.reflogExpire", "never")
    made.git("config", "gc.reflogExpireUnreachable", "never")
    yield made
    made.close()


def content(sid: str, turn: int) -> str:
    return "".join(f"{sid}_turn_{turn}_line_{n} = {n}\n" for n in range(5))


def play(agent: Agent, done: list[str]) -> None:
    """One session: a file of its own in each turn, sometimes a second, sometimes none."""
    chance = random.Random(agent.sid)
    agent.start()
    for turn in range(TURNS):
        agent.prompt(f"{agent.sid} prompt {turn}.")
        for name in ["", "_more"][: chance.choice((0, 1, 1, 1, 2))]:
            path = f"{agent.sid}/t{turn}{name}.py"
            agent.write(path, content(agent.sid, turn))
            done.append(path)
        agent.stop()
    agent.end()


def person(world: World, top: Path, busy: Callable[[], bool]) -> int:
    """Commit a random part of what is there, again and again; the number of commits."""
    chance, made = random.Random(str(top.name)), 0
    while busy():
        out = world.git("ls-files", "-z", "--others", "--modified", cwd=top).split("\0")
        found = [path for path in out if path.endswith(".py")]
        some = chance.sample(found, len(found) // 2)
        if some:
            world.git("add", "--", *some, cwd=top)
            world.git("commit", "-q", "-m", f"commit {made}", cwd=top)
            made += 1
        else:
            world.git("status", "--short", cwd=top)
            time.sleep(0.05)  # looking is no work to race with, and costs the sessions their time
    return made


def run(world: World, tops: list[Path]) -> dict[str, list[str]]:
    """All sessions at once, spread over the worktrees; session id -> the paths it wrote."""
    agents = [world.agent(f"s{n:02}", cwd=tops[n % len(tops)], tools=True) for n in range(SESSIONS)]
    done: dict[str, list[str]] = {agent.sid: [] for agent in agents}
    with ThreadPoolExecutor(SESSIONS + len(tops)) as pool:
        playing = [pool.submit(play, agent, done[agent.sid]) for agent in agents]

        def busy() -> bool:
            return not all(future.done() for future in playing)

        people = [pool.submit(person, world, top, busy) for top in tops]
        for future in playing:
            future.result()
        print([future.result() for future in people], "commits")
    return done


def read_settled(world: World) -> dict[str, dict[str, Any]]:
    """session id -> path -> what the permanent store says of it."""
    found: dict[str, dict[str, Any]] = {}
    for checkpoint in world.checkpoints():
        for sid, metadata in world.committed(checkpoint).items():
            found.setdefault(sid, {}).update(metadata["files"])
    return found


def sound(world: World) -> None:
    """What holds whatever happened: refs only went forward, nothing is missing or locked."""
    log = world.git("log", "-g", "--format=%H", V1).splitlines() if world.refs(V1) else []
    line = world.git("rev-list", "--first-parent", V1).splitlines() if log else []
    assert log == line, "v1 never went back"
    for ref in world.refs("refs/heads/entire"):
        tips = world.git("log", "-g", "--format=%H %P", ref).splitlines()
        for (tip, *parents), old in zip(map(str.split, tips), tips[1:], strict=False):
            assert old.split()[0] in parents or not parents, (ref, tip)
    world.git("fsck", "--connectivity-only", "--no-dangling")
    locks = [*world.path.glob(".git/**/*.lock")]
    assert not locks


@pytest.mark.parametrize("worktrees", [1, 4])
def test_sessions_at_once_lose_nothing(world: World, worktrees: int) -> None:
    tops = [world.path]
    for n in range(1, worktrees):
        tops.append(world.path.parent / f"other{n}")
        world.git("worktree", "add", "-q", "-b", f"topic{n}", str(tops[-1]))
    done = run(world, tops)
    sound(world)
    settled = read_settled(world)
    for sid, paths in done.items():
        state = world.state(sid)
        assert len(state["turns"]) == TURNS, "no update of a state is lost"
        assert state["phase"] == "ended"
        open_ = {path for stream in state["streams"] for path in stream["files"]}
        lost = set(paths) - open_ - settled.get(sid, {}).keys()
        assert not lost, f"{sid} lost {sorted(lost)}"
        assert not open_ & settled.get(sid, {}).keys()
        strange = (open_ | settled.get(sid, {}).keys()) - set(paths)
        assert not strange, f"{sid} took what others wrote: {sorted(strange)}"
    everything_settles(world, tops, done)


def everything_settles(world: World, tops: list[Path], done: dict[str, list[str]]) -> None:
    for top in tops:
        world.git("add", ".", cwd=top)
        world.git("commit", "-q", "--allow-empty", "-m", "the rest", cwd=top)
    settled = read_settled(world)
    for sid, paths in done.items():
        assert settled.get(sid, {}).keys() == set(paths)
        transcripts = "".join(
            found["transcript"]
            for one in world.git("log", "--all", "--format=%H").splitlines()
            for checkpoint in world.ids(one)
            for found in [world.committed(checkpoint).get(sid, {"transcript": ""})]
        )
        last = [p for p in paths if not p.endswith("_more.py")][-1:]
        assert all(p in transcripts for p in last)
    assert world.open() == []
    assert list(world.refs("refs/heads/entire")) == ([V1] if settled else [])
