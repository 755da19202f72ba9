"""Random changes of all kinds of entries, in parts: a part has nobody else's lines, nothing is
lost, and undo brings the index back.

Every line names who wrote it.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from tests.model.test_truth import find_writer
from tests.steps.rewind.going import files, run
from tests.support.clients.calls import edit
from tests.support.clients.calls import run as run_shell
from tests.support.harness import World

LONG = bool(os.environ.get("LONG"))
CASES = int(os.environ.get("CASES", "400")) if LONG else 4
SEED = int(os.environ.get("SEED", "0"))
SESSIONS = ("aaaa0000-0000-4000-8000-00000000000a", "bbbb0000-0000-4000-8000-00000000000b")
NAMES = ("unix.txt", "dos.txt", "open.txt", "run.sh", "sub/deep.txt")


class Case:
    """A repository with files of all kinds, which two sessions and a person change."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.agents = [world.agent(sid, tools=True) for sid in SESSIONS]
        self.count = 0
        self.said: list[str] = []
        world.git("config", "core.autocrlf", "false")
        for name in NAMES:
            self.put(name, [self.line("person") for _ in range(5)])
        world.commit()
        self.committed = self.count  # the number of the last line that is
        for agent in self.agents:
            agent.turn("begin")

    def line(self, who: str) -> str:
        self.count += 1
        return f"{who[:4] if who != 'person' else who} wrote line number {self.count} here"

    def make_text(self, name: str, lines: list[str]) -> str:
        end = "\r\n" if name.startswith("dos") else "\n"
        text = "".join(line + end for line in lines)
        return text.removesuffix(end) if name.startswith("open") else text

    def put(self, name: str, lines: list[str]) -> None:
        path = self.world.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.make_text(name, lines).encode())

    def read(self, name: str) -> list[str]:
        path = self.world.path / name
        return path.read_bytes().decode().splitlines() if path.exists() else []

    def list_files(self) -> list[str]:
        return sorted(name for name in files(self.world.path) if not name.startswith("."))

    def change(self, who: str) -> None:
        """One change by a session or the person."""
        act = self.chance.choice(("lines", "lines", "lines", "new", "remove", "move", "mode"))
        names = self.list_files()
        name = self.chance.choice(names)
        self.said.append(f"{who[:6]} {act} {name}")
        free = f"{self.chance.choice(('dos', 'open', 'new'))}{self.count}.txt"
        if act in ("lines", "new"):
            name = name if act == "lines" else free
            lines = self.read(name)
            at = self.chance.randrange(len(lines) + 1)
            if lines and self.chance.random() < 0.4:
                lines[min(at, len(lines) - 1)] = self.line(who)
            else:
                lines.insert(at, self.line(who))
            self.write(who, name, self.make_text(name, lines))
        elif act == "remove" and len(names) > 4:
            self.shell(who, f"rm {name}")
        elif act == "move" and name != free:
            self.shell(who, f"mv {name} {free}")
        elif act == "mode":
            self.shell(who, f"chmod +x {name}")

    def write(self, who: str, name: str, text: str) -> None:
        if who == "person":
            self.world.write(name, "")
            (self.world.path / name).write_bytes(text.encode())
            return
        agent = self.agents[SESSIONS.index(who)]
        agent.prompt(f"change {name} {self.count}")
        edit(agent, name, text)
        agent.stop()

    def shell(self, who: str, command: str) -> None:
        if who == "person":
            assert os.system(f"cd '{self.world.path}' && {command}") == 0
            return
        agent = self.agents[SESSIONS.index(who)]
        agent.prompt(f"run {command}")
        run_shell(agent, command)
        agent.stop()

    def stage_some(self) -> None:
        """The person stages some files, or says that they will be added."""
        for name in self.list_files():
            way = self.chance.choice(("", "", "", "add", "add -N"))
            if way:
                self.said.append(f"git {way} {name}")
                self.world.git(*way.split(), "--", name)

    def read_index(self) -> str:
        return self.world.git("status", "--porcelain=v2", "-uall")

    def explain(self, *what: object) -> str:
        return "\n".join([*map(str, what), "after:", *self.said])

    def list_added(self, old: str, new: str) -> set[str]:
        """Who wrote the lines that one tree has more than another, less those that were there
        before everything, and may have been moved."""
        diff = self.world.git("diff", "-U0", "--no-renames", "--no-ext-diff", old, new, "--")
        rows = [row[1:].rstrip("\r") for row in diff.splitlines() if row.startswith("+")]
        written = [row for row in rows if " wrote line number " in row]
        return {find_writer(row) for row in written if int(row.split()[-2]) > self.committed}

    def check_stage(self, who: str) -> None:
        """Stage the part of one, and take that back."""
        there = files(self.world.path)
        index = self.read_index()
        tree = self.world.git("write-tree") if "\n1 .A" not in f"\n{index}" else ""
        argv = ("--by-hand",) if who == "person" else ("--session", who)
        ended = run(self.world, "stage", *argv)
        assert ended.returncode in (0, 1), self.explain(ended)
        self.said.append(f"gitcp stage {' '.join(argv)}")
        assert files(self.world.path) == there, self.explain("stage changed a file")
        if tree and self.read_index() != index:
            added = self.list_added(tree, self.world.git("write-tree"))
            assert added <= {who}, self.explain(f"lines of {added} are staged for {who}")
        if self.read_index() != index:
            ended = run(self.world, "undo", "-y")
            assert ended.returncode == 0, self.explain(ended)
            self.said.append("gitcp undo")
        assert self.read_index() == index, self.explain(index, "became", self.read_index())

    def check_split(self) -> None:
        """A commit for each session, with the lines of no other."""
        there = files(self.world.path)
        head = self.world.head
        ended = run(self.world, "split", "--no-edit")
        refused = ended.returncode == 128 and "has staged changes" in ended.stderr
        assert refused or ended.returncode in (0, 1), self.explain(ended)
        assert files(self.world.path) == there, self.explain("split changed a file")
        for oid in self.world.git("rev-list", f"{head}..HEAD").split():
            added = self.list_added(f"{oid}^", oid) - {"person"}
            assert len(added) <= 1, self.explain(f"a commit has lines of {added}", ended)
        if ended.returncode == 0:
            left = [one for one in self.list_sessions() if one.get("files_touched")]
            assert not left, self.explain("left with status 0", left, ended)

    def list_sessions(self) -> list[dict[str, Any]]:
        listed = run(self.world, "sessions", "--json").stdout
        return [json.loads(line) for line in listed.splitlines()]


@pytest.mark.parametrize("number", range(CASES))
def test_a_part_is_its_authors_alone_and_nothing_is_lost(world: World, number: int) -> None:
    case = Case(world, SEED + number)
    for _ in range(case.chance.randint(3, 9)):
        case.change(case.chance.choice((*SESSIONS, "person")))
    if case.chance.random() < 0.6:
        case.stage_some()
    for who in (*SESSIONS, "person"):
        case.check_stage(who)
    case.check_split()
