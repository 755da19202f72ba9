"""Whatever sessions and a person do, blame names for every line who typed it, or nobody.

Every line there ever is is unique, so the model needs no history: it knows a line's author by
its text.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import Any

import pytest

from tests.support.harness import Agent, World
from tests.support.paths import BIN

SEEDS = range(2)
STEPS = 250 if os.environ.get("LONG") else 14
FILES = ("a.txt", "b.txt", "dir/c.txt")


class Model:
    """The world, and whose each line is."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.agents = [world.agent(f"session-{n}") for n in range(2)]
        self.owner: dict[str, str] = {}
        self.count = 0
        self.turns = self.gaps = 0

    def edited(self, name: str, who: str) -> str:
        """The file with lines put in, changed and taken out, all that is new who's."""
        path = self.world.path / name
        lines = path.read_text().splitlines() if path.exists() else []
        for _ in range(self.chance.randint(1, 3)):
            self.count += 1
            line = f"line number {self.count:04d} of {who}"
            self.owner[line] = who
            at = self.chance.randint(0, len(lines))
            lines[at : at + self.chance.choice((0, 0, 1))] = [line]
        return "\n".join(lines) + "\n"

    def turn(self) -> None:
        agent: Agent = self.chance.choice(self.agents)
        agent.tools = True
        self.turns += 1
        agent.prompt(f"prompt {self.turns}")
        for name in self.chance.sample(FILES, self.chance.randint(1, 2)):
            agent.write(name, self.edited(name, agent.sid))
        agent.stop()

    def person(self) -> None:
        name = self.chance.choice(FILES)
        text = self.edited(name, "person")
        (self.world.path / name).parent.mkdir(exist_ok=True)
        self.world.write(name, text)

    def commit(self) -> None:
        names = self.chance.choice((["-A"], [self.chance.choice(FILES)]))
        known = [n for n in names if n == "-A" or (self.world.path / n).exists()]
        if known:
            self.world.git("add", *known)
            self.run("commit", "-q", "-m", f"commit {self.count}")

    def amend(self) -> None:
        self.world.git("add", "-A")
        self.run("commit", "-q", "--amend", "--no-edit")

    def again(self) -> None:
        """Undo the last commit and make it again: its lines keep their authors."""
        if len(self.world.git("rev-list", "HEAD").split()) > 3:
            self.world.git("reset", "-q", "--soft", "HEAD~1")
            self.run("commit", "-q", "-m", f"again {self.count}")

    def run(self, *args: str) -> None:
        env = {**os.environ, **self.world.env}
        subprocess.run(["git", *args], cwd=self.world.path, env=env, capture_output=True)

    def check(self, step: str) -> None:
        for name in FILES:
            tracked = self.world.git("ls-tree", "HEAD", "--", name)
            if not tracked or not (self.world.path / name).exists():
                continue
            for record in blamed(self.world, name):
                owner = self.owner[record["content"]]
                named = record["session_id"] or record["who"]
                # A gap may be: what a person amends is recorded by nobody.  A wrong name, never.
                assert named in (owner, "unknown"), f"{step}: {record}"
                self.gaps += named == "unknown" and owner != "person"


def blamed(world: World, name: str) -> list[dict[str, Any]]:
    argv = [sys.executable, str(BIN / "gitcp"), "blame", "--json", name]
    done = subprocess.run(argv, cwd=world.path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_line_is_named_after_who_typed_it(world: World, seed: int) -> None:
    model = Model(world, seed)
    for number in range(STEPS):
        steps = (model.turn, model.turn, model.person, model.commit, model.commit, model.amend)
        step = model.chance.choice((*steps, model.again))
        step()
        model.check(f"seed {seed}, step {number}, {step.__name__}")
    assert model.gaps == 0
