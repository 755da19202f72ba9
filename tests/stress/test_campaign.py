"""Everything at once, in random order: kills, prunes, damage, full disks, hostile remotes.

LONG=1 goes on for MINUTES (an hour); SEED repeats a run.  Whatever happened, at the end git and
gitcp find nothing wrong, and every prompt that was ever typed is found.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp import git
from tests.support.broken import Store
from tests.support.checkpoints import forget
from tests.support.copies import plant
from tests.support.harness import V1, Agent, World
from tests.support.paths import ENTRY

LONG = bool(os.environ.get("LONG"))
SECONDS = 60.0 * float(os.environ.get("MINUTES", "60"))
STEPS, SESSIONS = (10**9, 6) if LONG else (12, 2)
JUNK = [b"", b"{", b"5", b"[]", b'{"streams": [1]}', b'{"session_id": 7}', b"\0" * 99]


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    made = World(plant(ground, tmp_path / "repo"), tmp_path / "home")
    made.git("config", "gc.autoDetach", "false")
    made.git("config", "gitcp.push-timeout", "2")
    yield made
    made.close()


class Campaign:
    """One run: the sessions, what they were asked, and what is done to them."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.agents = [world.agent(f"s{n:02}") for n in range(SESSIONS)]
        self.asked: dict[str, list[str]] = {agent.sid: [] for agent in self.agents}
        self.git_dir, self.steps = world.path / ".git", 0

    def event(self, agent: Agent, name: str, shell: str = "", **payload: object) -> None:
        """A hook of the client, however it goes; shell: what happens to its process before."""
        about = {"session_id": agent.sid, "transcript_path": str(agent.transcript)}
        given = {**about, "cwd": str(agent.cwd), "hook_event_name": name, **payload}
        argv = [sys.executable, "-I", "-S", str(ENTRY), "claude-code", name]
        if shell:
            argv = ["sh", "-c", f'{shell} "$@"', "sh", *argv]
        subprocess.run(
            argv,
            cwd=self.world.path,
            env={**os.environ, "CLAUDE_PID": str(agent.pid)},
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=git.TOTAL + 10,  # no hook is over its budget
            check=False,
        )

    def turn(self, shell: str = "") -> None:
        """A prompt, a file or two, the end; the transcript as the client writes it."""
        agent = self.chance.choice(self.agents)
        prompt = f"request {self.steps} of {agent.sid} to be found again"
        self.asked[agent.sid].append(prompt)
        self.event(agent, "UserPromptSubmit", prompt=prompt, prompt_id=f"p{self.steps}")
        agent.say({"type": "user", "message": {"role": "user", "content": prompt}})
        for name in self.chance.sample(["a.py", "b/c.py", "d.txt"], 2):
            agent.write(f"{agent.sid}/{name}", f"{self.steps}\n" * self.chance.randint(1, 9))
        self.event(agent, "Stop", shell, stop_hook_active=False)

    def killed(self) -> None:
        self.turn(f"timeout -s KILL {self.chance.uniform(0.02, 0.3):.3f}")

    def full_disk(self) -> None:
        self.turn("ulimit -f 0;")

    def few_descriptors(self) -> None:
        self.turn(f"ulimit -n {self.chance.randint(4, 15)};")

    def commit(self) -> None:
        self.git("add", "-A", self.chance.choice(self.agents).sid)
        self.git("commit", "-q", "-m", f"step {self.steps}")

    def prune(self) -> None:
        self.git(*self.chance.choice([["gc", "-q", "--prune=now"], ["repack", "-adq"]]))
        self.git("worktree", "prune")

    def damage(self) -> None:
        """Junk in a private file; a state that is gone for good is the person's own doing."""
        names = [*self.git_dir.glob("entire-sessions/*"), *self.git_dir.glob("gitcp/open/*")]
        names += [*self.git_dir.glob("gitcp/turn/*"), *self.git_dir.glob("gitcp/transcript/*.json")]
        if names:
            self.chance.choice(sorted(names)).write_bytes(self.chance.choice(JUNK))

    def lose(self) -> None:
        """An object that only streams need goes for good."""
        walk = ["rev-list", "--objects", "--no-object-names"]
        out = self.world.git(
            *[*walk, "--indexed-objects", "--exclude=entire/*", "--branches"],
            "--branches=entire/checkpoints",  # in which there may be none yet
        )
        needed, streams = set(out.split()), self.world.streams
        if streams:
            mine = self.world.git(*walk, *streams, ok=False)
            only = sorted(set(mine.split()) - needed)
            if only:
                forget(self.git_dir, self.chance.choice(only))
                # It may be in the graph that gc drew, which says so whether it is there or not.
                (self.git_dir / "objects/info/commit-graph").unlink(missing_ok=True)
                Store.check_at(self.world.path, fix=True)

    def push(self) -> None:
        """To a remote that is gone, hangs or refuses."""
        self.git("push", "-q", self.chance.choice(["/nowhere", "ext::sleep 20"]), "HEAD")

    def git(self, *args: str) -> None:
        subprocess.run(
            ["git", *args], cwd=self.world.path, capture_output=True, timeout=200, check=False
        )

    def run(self) -> None:
        ways = [
            self.turn,
            self.turn,
            self.commit,
            self.killed,
            self.prune,
            self.damage,
            self.lose,
            self.full_disk,
            self.few_descriptors,
            self.push,
        ]
        end, order = time.monotonic() + SECONDS, list(ways)
        self.chance.shuffle(order)
        while self.steps < STEPS and time.monotonic() < end:
            way = order[self.steps] if self.steps < len(order) else self.chance.choice(ways)
            print(self.steps, way.__name__)
            way()
            self.steps += 1

    def settle(self) -> None:
        """Peace: each session has a quiet turn, all is committed."""
        Store.check_at(self.world.path, fix=True)
        for agent in self.agents:
            self.event(agent, "UserPromptSubmit", prompt="the end", prompt_id="end")
            agent.write(f"{agent.sid}/end.py", "end\n")
            self.event(agent, "Stop", stop_hook_active=False)
        self.git("add", "-A", *self.asked)
        self.git("commit", "-q", "-m", "the end")


@pytest.mark.thorough
def test_whatever_happens_all_is_found_in_the_end(world: World) -> None:
    seed = int(os.environ.get("SEED", "7" if not LONG else time.time_ns() % 10**6))
    print("SEED", seed)
    campaign = Campaign(world, seed)
    campaign.run()
    campaign.settle()
    left = [f for f in Store.check_at(world.path, fix=True) if f["severity"] == "error"]
    assert [f for f in left if not f.get("repaired")] == []
    world.git("fsck", "--no-dangling")
    world.git("gc", "-q")
    text = "".join(
        world.git("grep", "-h", "to be found again", ref, ok=False)
        for ref in (V1, *world.streams, *world.archives)
    )
    for prompts in campaign.asked.values():
        assert [prompt for prompt in prompts if prompt not in text] == []
