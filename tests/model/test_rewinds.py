"""Random work, rewinds, undos, redos and kills, against full copies of the worktree.

The oracle keeps a copy of every file after each step.  After a rewind, undo or redo the worktree
is the copy it should be, with what the person made since; what is ignored is never touched.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from gitcp.cmd.back import redo, rewind, undo
from tests.steps.rewind.going import Files, around, files
from tests.steps.rewind.test_crash import in_child
from tests.support.harness import Agent, World

STEPS = 2000 if os.environ.get("LONG") else 12
AGENT_PATHS = ("a.py", "b b.py", "d/e.py", "d/f/g.py", "src/lib.py", "README.md", "caf\u00e9.txt")
IGNORED = "build/out.log"


class Model:
    """A worktree, an agent in it, and the copies of what it was."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.agent = self._agent(0)
        self.turns = 0
        self.moments: dict[str, Files] = {}  # point -> all files then
        self.log: list[tuple[Files, Files, int]] = []  # before, after, parent
        self.at = -1  # the step in force
        self.undone: list[int] = []

    def _agent(self, number: int) -> Agent:
        return self.world.agent(f"{number:08d}-aaaa-4a87-9186-848bdd83d62e")

    def files(self) -> Files:
        """Every file but the ignored one, which is as it always was."""
        found = files(self.world.path)
        assert found.pop(IGNORED) == ("0", b"precious\n")
        return found

    def turn(self) -> None:
        """The agent changes some paths: content, mode, links, files and directories."""
        self.turns += 1
        self.agent.prompt(f"turn {self.turns}")
        for path in self.chance.sample(AGENT_PATHS, self.chance.randint(1, 4)):
            self._touch(path)
        (self.world.path / "turn").write_text(f"{self.turns}\n")
        self.agent.write("turn", f"{self.turns}\n")
        tips = self.world.refs("refs/heads/entire").items()
        self.agent.stop()
        ((_, newest),) = self.world.refs("refs/heads/entire").items() - tips
        self.moments[newest] = self.files()

    def _touch(self, path: str) -> None:
        full = self.world.path / path
        self._clear(full)
        kind = self.chance.choice(("write", "write", "link", "folder", "exec", "gone"))
        if kind == "link":
            full.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(self.chance.choice(AGENT_PATHS), full)
        elif kind == "folder":
            self.agent.write(f"{path}/in", f"{self.chance.random()}\n")
        elif kind != "gone":
            self.agent.write(path, f"{path} {self.chance.random()}\n" * self.chance.randint(1, 9))
            full.chmod(0o755 if kind == "exec" else 0o644)

    def _clear(self, full: Path) -> None:
        for above in full.relative_to(self.world.path).parents:
            here = self.world.path / above
            if here != self.world.path and (here.is_symlink() or here.is_file()):
                here.unlink()
        if full.is_dir() and not full.is_symlink():
            shutil.rmtree(full)
        elif full.is_symlink() or full.exists():
            full.unlink()

    def person(self) -> None:
        """The person makes a file of their own, or changes one."""
        self.world.write(f"mine-{self.chance.randint(0, 9)}.txt", f"{self.chance.random()}\n")

    def step(self, body: list[str], wanted: Files, why: str) -> bool:
        """Run rewind, undo or redo, perhaps killed in its middle; whether it came to be."""
        before, untouched = self.files(), around(self.world)
        name, *args = body
        run = {"rewind": rewind.run, "undo": undo.run, "redo": redo.run}[name]
        at = self.chance.randint(1, 60) if self.chance.random() < 0.4 else 0

        def kill(_: str, number: int) -> None:
            if number == at:
                os.kill(os.getpid(), signal.SIGKILL)

        in_child(self.world.path, lambda: run(args), kill)
        why += ": " + (self.world.path / ".git" / "errors").read_text()
        in_child(self.world.path, lambda: undo.run(["--list"]), lambda _, number: None)
        now = self.files()
        assert around(self.world) == untouched, why
        assert now == wanted or (at and now == before), why
        return now == wanted != before

    def rewind(self) -> None:
        point = self.chance.choice(list(self.moments))
        before, moment = self.files(), self.moments[point]
        theirs = {p: f for p, f in before.items() if p.startswith("mine-")}
        wanted = {**theirs, **moment}
        if self.step(["rewind", "--files-only", "--to", point], wanted, "rewind"):
            self.log.append((before, wanted, self.at))
            self.at = len(self.log) - 1

    def undo(self) -> None:
        if self.at < 0:
            return
        before, after, parent = self.log[self.at]
        wanted = self.taken_back(after, before)
        if wanted is not None and self.step(["undo"], wanted, "undo"):
            self.undone.append(self.at)
            self.at = parent

    def redo(self) -> None:
        here = [n for n in self.undone if self.log[n][2] == self.at]
        if not here:
            return
        before, after, _ = self.log[here[-1]]
        wanted = self.taken_back(before, after)
        if wanted is not None and self.step(["redo"], wanted, "redo"):
            self.at = here[-1]

    def taken_back(self, old: Files, new: Files) -> Files | None:
        """The files when the change from old to new is made in what is there now; None where
        somebody has changed what it changes."""
        now = self.files()
        wanted = dict(now)
        for path in {*old, *new}:
            was, becomes = old.get(path), new.get(path)
            if was != becomes and now.get(path) not in (was, becomes):
                return None
            if was != becomes:
                wanted.pop(path, None)
                wanted |= {path: becomes} if becomes else {}
        return wanted


@pytest.mark.parametrize("streams", ["overlap", "suffix"])
def test_the_worktree_is_always_the_one_it_should_be(world: World, streams: str) -> None:
    world.git("config", "gitcp.streams", streams)
    world.write(".gitignore", "build/\n")
    world.commit(".gitignore")
    world.write(IGNORED, "precious\n")
    model = Model(world, seed=len(streams))
    model.turn()
    steps = [model.turn, model.turn, model.person, model.rewind, model.rewind]
    steps += [model.undo, model.undo, model.redo]
    for _ in range(STEPS):
        model.chance.choice(steps)()
    assert model.log
