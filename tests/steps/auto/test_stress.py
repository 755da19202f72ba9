"""Auto-commit under stress: sessions, a person and fickle hooks at once in one worktree."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.steps.auto.hooks_and_checks import hook, sound
from tests.support.harness import Agent, World

SESSIONS, TURNS = (6, 20) if os.environ.get("LONG") else (3, 3)
# Refuses, formats what is staged of the sessions', is slow, or does nothing.
FICKLE = """
[ -e $HOME/calm ] && exit 0
n=$(($(date +%s%N) / 1000 % 10))
case $n in
0) exit 1 ;;
1 | 2) git diff --cached --name-only --diff-filter=AM | while read -r f; do
	case $f in s*.py) echo '# formatted' >>"$f"; git add "$f" ;; esac; done ;;
3) sleep 0.5 ;;
esac
"""


class Person:
    """Stages, commits and stashes files of their own while the sessions work."""

    def __init__(self, world: World) -> None:
        self.world, self.chance, self.count = world, random.Random(1), 0
        self.lines: dict[str, list[str]] = {}
        self.staged: dict[str, str] = {}  # path -> what the index is to hold of it

    def git(self, *args: str) -> subprocess.CompletedProcess[str]:
        """As typed: another git may hold the index or HEAD, then they try again."""
        for _ in range(400):
            env = {**os.environ, "GIT_EDITOR": "true"}
            done = subprocess.run(
                ["git", *args], cwd=self.world.path, env=env, capture_output=True, text=True
            )
            if "index.lock" not in done.stderr and "cannot lock ref" not in done.stderr:
                return done
            time.sleep(0.02)
        raise AssertionError(done.stderr)

    def act(self) -> None:
        """Type a line into a file, and do something with it; what was theirs before stands."""
        self.count += 1
        path = f"person/{self.count % 3}.txt"
        lines = self.lines.setdefault(path, [])
        lines.append(f"person line {self.count}\n")
        at = self.world.path / path
        at.parent.mkdir(exist_ok=True)
        with at.open("a") as f:
            f.write(lines[-1])
        what = self.chance.choice(("nothing", "stage", "commit", "stash"))
        if what == "stage":
            self.stage(path)
        elif what == "commit":
            self.stage(path)
            self.git("commit", "-q", "--no-verify", "-m", "by hand", "--", path)
        elif what == "stash" and path in self.staged:
            self.stash(path)
        self.keeps()

    def stage(self, path: str) -> None:
        done = self.git("add", path)
        assert done.returncode == 0, done
        self.staged[path] = self.text(path)

    def text(self, path: str) -> str:
        return "".join(self.lines[path])

    def stash(self, path: str) -> None:
        while self.git("stash", "push", "-q", "--", path).returncode:
            # Another git held the index: nothing is put away, though an entry may say so.
            assert self.world.read(path) == self.text(path)
            self.git("stash", "drop", "-q")
            self.stage(path)
        for _ in range(100):  # whatever keeps git from it for a moment, the person tries on
            done = self.git("stash", "pop", "-q")
            if done.returncode == 0:  # git brings a new file back staged, no other
                head = self.git("show", f"HEAD:{path}")
                self.staged[path] = head.stdout if head.returncode == 0 else self.text(path)
                return
            time.sleep(0.1)
        raise AssertionError(f"what the person stashed does not come back: {done.stderr}")

    def keeps(self) -> None:
        """Index and worktree have every byte that the person gave them."""
        for path in self.lines:
            assert self.world.read(path) == self.text(path), path
        for path, text in self.staged.items():
            done = self.git("show", f":{path}")
            # More than that is git's: a stash that meets another git's lock leaves things staged.
            assert done.returncode == 0 and done.stdout.startswith(text), path
            assert self.text(path).startswith(done.stdout), path


def mine(agent: Agent, turn: int) -> list[str]:
    """The lines that a session writes in a turn: two into a new file, one into an old one."""
    return [f"{agent.sid}_{turn}_{n} = {n}\n" for n in range(3)]


def play(agent: Agent, turn: int) -> None:
    agent.prompt(f"{agent.sid} turn {turn}")
    first, second, third = mine(agent, turn)
    agent.write(f"{agent.sid}/{turn}.py", first + second)
    shared = agent.cwd / agent.sid / "all.py"
    before = shared.read_text() if shared.exists() else ""
    agent.write(f"{agent.sid}/all.py", before + third)
    agent.stop()


@pytest.mark.thorough
def test_sessions_a_person_and_hooks_at_once_lose_nothing(world: World) -> None:
    """Every line of a session is committed once, under its own message and its id; until then it
    is in a temporary checkpoint; index and worktree of the person lose no byte."""
    world.git("config", "gitcp.strategy", "auto-commit")
    hook(world, "pre-commit", FICKLE)
    agents = [world.agent(f"s{n}", tools=True) for n in range(SESSIONS)]
    for agent in agents:  # until it has told of a call, what changes in its turn is its own
        play(agent, 0)
    person = Person(world)

    def all_turns(agent: Agent) -> None:
        for turn in range(1, TURNS):
            play(agent, turn)

    with ThreadPoolExecutor(SESSIONS) as pool:
        playing = [pool.submit(all_turns, agent) for agent in agents]
        while not all(one.done() for one in playing):
            person.act()
        for one in playing:
            one.result()
    person.keeps()
    every = {line for a in agents for turn in range(TURNS) for line in mine(a, turn)}
    made = committed(world)
    kept = "".join(
        text for ref in [*world.streams, *world.archives] for text in world.tree(ref).values()
    )
    assert [line for line in every if line not in made and line not in kept] == []
    assert made.keys() <= every
    sound(world)
    the_rest_is_committed_by_the_next_turn(world, agents)
    person.keeps()


def committed(world: World) -> dict[str, str]:
    """line of a session -> the one commit that has added it: that session's own, by its message
    and its id; none takes a line away."""
    form = "--format=%x00%H%x01%s"
    found: dict[str, str] = {}
    for item in world.git("log", "--first-parent", "-p", form, "main").split("\0")[1:]:
        head, _, patch = item.partition("\n")
        oid, subject = head.split("\x01")
        assert not re.search(r"^-s\d", patch, re.M), item
        added = re.findall(r"^\+((s\d+)_\d+_\d = \d)$", patch, re.M)
        assert not {line for line, _ in added} & found.keys()
        found |= {f"{line}\n": oid for line, _ in added}
        owners = {sid for _, sid in added}
        assert len(owners) <= 1, item
        for sid in owners:
            assert subject.startswith(f"{sid} turn".capitalize()), item
            [one] = world.ids(oid)
            told = world.committed(one)
            assert list(told) == [sid]
            assert set(told[sid]["files_touched"]) == set(
                re.findall(r"^\+\+\+ b/(.*)$", patch, re.M)
            )
    return found


def the_rest_is_committed_by_the_next_turn(world: World, agents: list[Agent]) -> None:
    """What fell back goes into the next commit of its session; then nothing is left over."""
    (world.home / "calm").touch()
    for agent in agents:
        play(agent, TURNS)
    made = committed(world)
    every = {line for a in agents for turn in range(TURNS + 1) for line in mine(a, turn)}
    assert made.keys() == every
    assert not re.search(r"^[+-]s\d", world.git("diff", "HEAD"), re.M)
    assert (world.streams, world.open()) == ([], [])
    sound(world)
    assert world.gitcp("check-store", "--quiet") == ""
