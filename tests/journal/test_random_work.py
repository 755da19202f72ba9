"""Random work of two sessions and a person, held against an oracle that knows every line.

Every line is unlike all others, so that its author is who wrote it first.  The person writes
only while no window is open; LONG=1 makes it 2,000 steps.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import ids, noted, sessions

LONG = bool(os.environ.get("LONG"))
STEPS = 250 if LONG else 14
PATHS = ("a.txt", "src/b.txt", "c.txt", "README.md")
BEFORE = "unknown"


class Oracle:
    """The lines of the worktree and of HEAD as they must be, and who wrote each."""

    def __init__(self, world: World, agents: list[Agent], seed: int) -> None:
        self.world, self.agents = world, agents
        self.random = random.Random(seed)
        self.authors: dict[str, str] = {}
        self.busy: set[str] = set()
        self.committed: set[str] = set()
        self.made = 0
        for path in world.git("ls-files").splitlines():
            self.authors |= dict.fromkeys(world.read(path).splitlines(), BEFORE)

    def fresh(self, who: str) -> str:
        self.made += 1
        line = f"line number {self.made} by {who}"
        self.authors[line] = who
        return line

    def changed(self, path: str, who: str) -> str:
        """A content of path with some lines of before and some new ones of who's."""
        full = self.world.path / path
        lines = full.read_text().splitlines() if full.exists() else []
        lines = [line for line in lines if self.random.random() > 0.2]
        for _ in range(self.random.randint(1, 4)):
            lines.insert(self.random.randint(0, len(lines)), self.fresh(who))
        return "".join(f"{line}\n" for line in lines)

    def there(self) -> list[str]:
        return [path for path in PATHS if (self.world.path / path).exists()]

    # What can happen.

    def turn(self) -> None:
        agent = self.random.choice(self.agents)
        if agent.sid in self.busy:
            agent.stop()
            self.busy.remove(agent.sid)
        else:
            agent.prompt(f"prompt {self.made}")
            self.busy.add(agent.sid)

    def _agent(self) -> Agent:
        if not self.busy:
            self.turn()
        return next(a for a in self.agents if a.sid in self.busy)

    def tool(self) -> None:
        agent, path = self._agent(), self.random.choice(PATHS)
        edit(agent, path, self.changed(path, agent.sid))

    def shell(self) -> None:
        agent, path = self._agent(), self.random.choice(PATHS)
        staged = self.world.home / "new content"
        staged.write_text(self.changed(path, agent.sid))
        run(agent, f"mkdir -p src; cat '{staged}' >{path}")

    def move(self) -> None:
        there = self.there()
        if there:
            old, new = self.random.choice(there), self.random.choice(PATHS)
            if old != new and new not in there:
                run(self._agent(), f"mkdir -p src; mv {old} {new}")

    def delete(self) -> None:
        there = self.there()
        if len(there) > 2:
            run(self._agent(), f"rm {self.random.choice(there)}")

    def person(self) -> None:
        path = self.random.choice(PATHS)
        self.world.write(path, self.changed(path, "person"))

    def stash(self) -> None:
        self.world.git("stash", "-u", "-q")
        if self.world.git("stash", "list"):
            self.world.git("stash", "pop", "-q")

    def commit(self) -> None:
        self.world.git("add", "-A")
        self._commit()

    def part(self) -> None:
        there = self.there()
        if there:
            self.world.git("add", "-A", self.random.choice(there))
            self._commit()

    def _commit(self) -> None:
        if self.world.git("diff", "--cached", "--name-only"):
            self.world.git("commit", "-q", "-m", f"commit {self.made}")
            self.check()
            self.committed |= set(self.world.git("grep", "-h", "^line", "HEAD").splitlines())

    # What must be true.

    def check(self) -> None:
        added = self._lines("+")
        made = ids(self.world) or noted(self.world)
        wrote = {who for who in added if who.startswith("session")}
        told = {}
        if made:
            stored = sessions(self.world, made[-1])
            told = {sid: m["initial_attribution"] for sid, m in stored.items()}
        for sid in wrote - set(told):
            assert not self._linked(sid), "what the session wrote is in a file of the commit"
        if not told:
            return
        for sid, one in told.items():
            assert one["lines_added"]["agent"] == added.get(sid, 0), (sid, added, told)
        first = next(iter(told.values()))["lines_added"]
        for who in ("person", "unknown"):
            assert first[who] == added.get(who, 0), (who, added, told)
        assert sum(first.values()) == sum(added.values())
        gone = next(iter(told.values()))["lines_removed"]
        assert sum(gone.values()) == sum(self._lines("-").values())

    def _linked(self, sid: str) -> bool:
        """Whether a session has lines that no commit had before in a path that the parent has:
        those link, of whatever number.  A line or two, or few of many, of a new file are no
        evidence, and lines that only move to another path are nobody's new work."""
        args = ("show", "--format=", "--unified=0", "--no-renames", "--diff-filter=M", "HEAD")
        added = [x[1:] for x in self.world.git(*args).splitlines() if x.startswith("+line")]
        return sid in {self.authors[line] for line in added if line not in self.committed}

    def _lines(self, sign: str) -> dict[str, int]:
        """Whose lines HEAD adds or removes, counted by git's own diff."""
        args = ("show", "--format=", "--unified=0", "--no-renames", "HEAD")
        counts: dict[str, int] = {}
        for line in self.world.git(*args).splitlines():
            if line.startswith(sign) and not line.startswith(sign * 3):
                who = self.authors[line[1:]]
                counts[who] = counts.get(who, 0) + 1
        return counts


@pytest.mark.parametrize("streams", ["overlap", "suffix"])
@pytest.mark.parametrize("seed", range(4 if LONG else 1))
def test_random_work_is_credited_as_the_oracle_says(
    world: World, a: Agent, b: Agent, streams: str, seed: int, tmp_path: Path
) -> None:
    world.git("config", "gitcp.streams", streams)
    oracle = Oracle(world, [a, b], seed)
    kinds = [
        *[oracle.tool] * 4,
        *[oracle.shell] * 3,
        *[oracle.person] * 3,
        *[oracle.commit] * 2,
        *[oracle.part] * 2,
        *[oracle.turn] * 2,
        oracle.move,
        oracle.delete,
        oracle.stash,
    ]
    for _ in range(STEPS):
        oracle.random.choice(kinds)()
    oracle.commit()
