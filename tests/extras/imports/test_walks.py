"""Whatever sessions and a person do, an import of the transcripts alone says no word that is not
in the record of it; how much of the record it finds is printed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.extras.imports.conftest import Coder, coder
from tests.extras.imports.truth import Told, clone
from tests.support import warm
from tests.support.harness import World

LONG = bool(os.environ.get("LONG"))
SEEDS = range(40) if LONG else range(1)
STEPS = 60 if LONG else 25
WORDS = "return value import parse result window signal buffer commit object".split()
FILES = ("src/app.py", "src/new.py", "notes.txt")


class Walk:
    """Two sessions and a person at work on three files."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.agents = [coder(world, "session-a"), coder(world, "session-b")]
        for agent in self.agents:
            agent.start()
            agent.prompt("begin")
        self.count = 0

    def line(self) -> str:
        """A line: a new one, a common one, or a brace."""
        self.count += 1
        chance = self.random.random()
        if chance < 0.15:
            return self.random.choice(["}", "", "    pass", "import os"])
        if chance < 0.3:
            return f"{self.random.choice(WORDS)} = {self.random.choice(WORDS)}()"
        name, function = self.random.choice(WORDS), self.random.choice(WORDS)
        return f"    {name}_{self.count} = {function}({self.count})"

    def changed(self, text: str) -> str:
        """A text with some lines more, less or other."""
        lines = text.split("\n")
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(lines) + 1)
            kind = self.random.choice(["add", "add", "replace", "remove"])
            if kind == "add" or at == len(lines):
                lines[at:at] = [self.line() for _ in range(self.random.randint(1, 4))]
            else:
                lines[at : at + 1] = [self.line()] if kind == "replace" else []
        return "\n".join(lines)

    def step(self) -> None:
        kind = self.random.choice(
            ["agent"] * 6
            + ["person"] * 3
            + ["prompt", "commit", "commit", "part", "amend"]
            + ["restore", "revert", "rebase", "delete"]
        )
        getattr(self, f"_{kind}")(self.random.choice(FILES))

    def _text(self, path: str) -> str:
        file = self.world.path / path
        return file.read_text() if file.exists() else ""

    def _agent(self, path: str) -> None:
        agent, text = self.random.choice(self.agents), self._text(path)
        lines = [line for line in text.split("\n") if line and text.count(line) == 1]
        if self.random.random() < 0.2:
            agent.look(path)
            agent.shell(path, self.changed(text).rstrip("\n") + "\n", self.random.random() < 0.7)
        elif lines and self.random.random() < 0.2:
            agent.look(path)
            if self.random.random() < 0.4:
                self._person(path)
            word = self.random.choice(self.random.choice(lines).split() or ["import"])
            agent.replace(path, word.strip("()/"), self.random.choice(WORDS) + "_new")
            agent.look(path)
        elif lines and self.random.random() < 0.6:
            old = self.random.choice(lines)
            agent.edit(
                path, old, "\n".join([old, self.line()] if self.count % 2 else [self.line()])
            )
        else:
            agent.write(path, self.changed(text))

    def _person(self, path: str) -> None:
        self.world.write(path, self.changed(self._text(path)))

    def _prompt(self, _: str) -> None:
        agent: Coder = self.random.choice(self.agents)
        agent.stop()
        agent.prompt(f"do {self.count}")

    def _commit(self, _: str) -> None:
        self.world.git("add", "-A")
        self.world.git("commit", "-q", "--allow-empty", "-m", "all")

    def _part(self, path: str) -> None:
        self.world.git("add", "-A", "--", path, ok=False)
        self.world.git("commit", "-q", "--allow-empty", "-m", "part")

    def _amend(self, path: str) -> None:
        self.world.git("add", "-A", "--", path, ok=False)
        self.world.git("commit", "-q", "--amend", "--allow-empty", "--no-edit")

    def _restore(self, path: str) -> None:
        self.world.git("checkout", "-q", "HEAD", "--", path, ok=False)

    def _delete(self, path: str) -> None:
        if self.random.random() < 0.3 and (self.world.path / path).exists():
            (self.world.path / path).unlink()

    def _revert(self, _: str) -> None:
        self.world.git("stash", "-q", ok=False)
        self.world.git("revert", "--no-edit", "HEAD", ok=False)
        self.world.git("revert", "--abort", ok=False)

    def _rebase(self, _: str) -> None:
        self.world.git("stash", "-q", ok=False)
        self.world.git("rebase", "-q", "--force-rebase", "HEAD~2", ok=False)
        self.world.git("rebase", "--abort", ok=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.thorough
def test_an_import_says_nothing_that_was_not_recorded(
    coded: World, tmp_path: Path, seed: int
) -> None:
    walk = Walk(coded, seed)
    for _ in range(STEPS):
        walk.step()
    for agent in walk.agents:
        agent.stop()
    walk._commit("")
    true, there = Told(coded.path), clone(coded.path, tmp_path / "clone")
    done = warm.run("import", "--json", "--path", str(coded.path), cwd=there)
    assert done.returncode in (0, 1), done
    told = Told(there)
    kept = coded.git("rev-list", "HEAD").split()
    print(f"walk {seed}: {told.recall(true, kept)}")
    assert not told.contradicted(true)
