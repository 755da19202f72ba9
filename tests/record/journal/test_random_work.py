"""Random work of two sessions and a person, held against an oracle that knows every line.

The person writes inside an open call only where that names its paths, and what two calls may
have written reads shared.  LONG=1 makes it 2,000 steps in both stream modes and strategies.
"""

from __future__ import annotations

import os

import pytest

from tests.record.journal.oracle import Oracle, staged
from tests.support.clients.calls import begin, edit, end, run
from tests.support.clients.process import start_sleeper
from tests.support.harness import Agent, World

LONG = bool(os.environ.get("LONG"))
STEPS = 250 if LONG else 12
SEEDS = os.environ.get("SEEDS", "0 1" if LONG else "0")
MODES = [
    (streams, strategy)
    for streams in ("overlap", "suffix")
    for strategy in ("manual-commit", "auto-commit")
]
PATHS = ("a.txt", "src/b.txt", "c.txt", "d.txt", "README.md")


class Work(Oracle):
    """Everything that can happen; each step is one method."""

    def there(self) -> list[str]:
        return [path for path in PATHS if (self.world.path / path).exists()]

    def turn(self) -> None:
        self._turn(self.random.choice(self.agents))

    def _turn(self, agent: Agent) -> None:
        if agent.sid in self.busy:
            agent.stop()
            self.check()
            self.busy.remove(agent.sid)
            if agent.sid in self.told:
                self.cost(agent.sid)
                self.told.remove(agent.sid)
        else:
            agent.prompt(f"prompt {self.made}")
            self.busy.add(agent.sid)

    def _agent(self, *others: Agent) -> Agent:
        """One that is in a turn, but for others."""
        agents = [agent for agent in self.agents if agent not in others]
        self.random.shuffle(agents)
        agent = next((a for a in agents if a.sid in self.busy), agents[0])
        if agent.sid not in self.busy:
            self._turn(agent)
        return agent

    def _written(self, path: str, text: str) -> None:
        self.world.write(path, text)

    def tool(self) -> None:
        agent, path = self._agent(), self.random.choice(PATHS)
        edit(agent, path, self.changed(path, agent.sid))

    def shell(self) -> None:
        agent, path = self._agent(), self.random.choice(PATHS)
        content = self.world.home / "new content"
        content.write_text(self.changed(path, agent.sid))
        run(agent, f"mkdir -p src; cat '{content}' >{path}")

    def move(self) -> None:
        there = self.there()
        free = [path for path in PATHS if path not in there]
        if there and free:
            old, new = self.random.choice(there), self.random.choice(free)
            run(self._agent(), f"mkdir -p src; mv {old} {new}")

    def delete(self) -> None:
        there = self.there()
        if len(there) > 2:
            run(self._agent(), f"rm {self.random.choice(there)}")

    def person(self) -> None:
        path = self.random.choice(PATHS)
        self._written(path, self.changed(path, "person"))

    def beside_a_tool(self) -> None:
        """The person writes while a file tool is at work on another path."""
        agent = self._agent()
        path, other = self.random.sample(PATHS, 2)
        call = begin(agent, "Write", file_path=str(self.world.path / path))
        self._written(other, self.changed(other, "person"))
        self._written(path, self.changed(path, agent.sid))
        end(agent, call)

    def at_once(self) -> None:
        """Two shells at once; a path that both may have written is the last one's, and shared."""
        first = self._agent()
        second = self._agent(first)
        one, two, both = self.random.sample(PATHS, 3)
        calls = [begin(first, "Bash", command=f"./gen {one}")]
        calls.append(begin(second, "Bash", command=f"./gen {two}"))
        for path, agent in ((two, second), (one, first), (both, second)):
            self._written(path, self.changed(path, agent.sid))
        for agent, call in zip((first, second), calls, strict=True):
            end(agent, call)
        assert self.shared(both) and not self.shared(one) and not self.shared(two)

    def background(self) -> None:
        """A command goes on after its turn's end; the person writes what it does not name."""
        agent = self._agent()
        path, other = self.random.sample(PATHS, 2)
        call = begin(agent, "Bash", command=f"./gen {path}", run_in_background=True)
        env = {**os.environ, "CLAUDE_CODE_SESSION_ID": agent.sid}
        with start_sleeper(self.world.path, env) as process:
            end(agent, call, {"backgroundTaskId": "bash_1"})
            self._turn(agent)
            self._written(path, self.changed(path, agent.sid))
            if (self.world.path / other).exists():
                self._written(other, self.changed(other, "person"))
            if self.random.random() < 0.5:
                self.commit()
            process.kill()
        self._turn(agent)

    def stash(self) -> None:
        """Put away by the person or an agent, and back, maybe with a turn's end in between."""
        if not self.world.git("status", "--porcelain"):
            return
        agent = self._agent() if self.random.random() < 0.5 else None
        for command in ("git stash -u -q", "git stash pop -q"):
            if agent and agent.sid in self.busy:
                run(agent, command)
            else:
                self.world.git(*command.split()[1:])
            if self.random.random() < 0.3:
                self.turn()

    def commit(self) -> None:
        self.world.git("add", "-A")
        self._commit()

    def part(self) -> None:
        """A commit of one path, or of some of the lines that are new in it."""
        there = self.there()
        if not there:
            return
        path = self.random.choice(there)
        if self.random.random() < 0.5:
            self.world.git("add", "-A", path)
        else:
            old = self.world.git("show", f"HEAD:{path}", ok=False).splitlines()
            lines = self.world.read(path).splitlines()
            kept = [line for line in lines if line in old or self.random.random() < 0.5]
            staged(self.world, path, "".join(f"{line}\n" for line in kept))
        self._commit()

    def _commit(self) -> None:
        if self.world.git("diff", "--cached", "--name-only"):
            self.world.git("commit", "-q", "-m", f"commit {self.made}")
            self.check()

    def amend(self) -> None:
        """The last commit, with all there is now."""
        parent = self.world.git("rev-parse", "-q", "--verify", "HEAD^", ok=False)
        self.world.git("add", "-A")
        if parent and self.world.git("diff", "--cached", "--name-only", parent):
            self.world.git("commit", "-q", "--amend", "--no-edit")
            self.check(amended=True)


COMMON = (Work.tool, Work.shell, Work.person, Work.turn, Work.commit, Work.part)
STEP = (
    *COMMON * 2, Work.tool, Work.tool, Work.shell, Work.person, Work.move, Work.delete, Work.stash,
    Work.amend, Work.at_once, Work.beside_a_tool, Work.background,
)  # fmt: skip


@pytest.mark.parametrize(("streams", "strategy"), MODES if LONG else [MODES[0], MODES[3]])
@pytest.mark.parametrize("seed", SEEDS.split())
def test_random_work_is_credited_as_the_oracle_says(
    world: World, a: Agent, b: Agent, streams: str, strategy: str, seed: str
) -> None:
    world.git("config", "gitcp.streams", streams)
    world.git("config", "gitcp.strategy", strategy)
    work = Work(world, [a, b], int(seed))
    trail: list[str] = []
    try:
        for _ in range(STEPS):
            step = work.random.choice(STEP)
            trail.append(step.__name__)
            step(work)
        work.commit()
    except AssertionError as e:
        e.add_note(f"after {len(trail)} steps: {' '.join(trail[-20:])}")
        raise
