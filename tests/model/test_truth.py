"""Random stories of sessions, a person and git: what is said of the work is what git has.

Every line names who wrote it, so git's plumbing alone tells whose work the worktree has and HEAD
lacks, and whose a stash entry holds.  After each step every command that names such work is asked.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.steps.rewind import going
from tests.support.harness import Agent, World

LONG = bool(os.environ.get("LONG"))
STORIES, STEPS = (int(os.environ.get("STORIES", "500")), 25) if LONG else (3, 12)
SEED = int(os.environ.get("SEED", "0"))
SESSIONS = ("aaaa0000-0000-4000-8000-00000000000a", "bbbb0000-0000-4000-8000-00000000000b")
NAMES = ("one.txt", "two.txt", "sub/three.txt", "four.txt")
PERSON = "person"
LINE = re.compile(r"^(\w+) wrote line number \d+ here$")

Owners = dict[str, set[str]]  # path -> the sessions whose work a change there has


class Change:
    """What one tree has and another lacks, by git's plumbing.

    owners: path -> the sessions whose lines are added there and stood nowhere before: a file that
    is new may be a moved or copied one.  paths: all that differ.  gone: those that are deleted."""

    def __init__(self, story: Story, old: str, new: str, base: str = "") -> None:
        """base: the commit that has the lines that stood before; '' for old."""
        self.owners: Owners = {}
        self.paths: set[str] = set()
        self.gone: set[str] = set()
        changed = story.plumb("diff-tree", "-r", "--no-renames", "--name-status", old, new)
        rows = [row.split("\t") for row in changed.splitlines()]
        known: set[str] = set()
        if any(kind == "A" for kind, _ in rows):
            for path in story.plumb("ls-tree", "-r", "--name-only", base or old).splitlines():
                known.update(story.plumb("show", f"{base or old}:{path}").splitlines())
        for kind, path in rows:
            self.paths.add(path)
            before = [] if kind == "A" else story.plumb("show", f"{old}:{path}").splitlines()
            after = [] if kind == "D" else story.plumb("show", f"{new}:{path}").splitlines()
            names = {find_writer(line) for line in set(after) - set(before) - known}
            self.owners[path] = names & set(SESSIONS)
            if kind == "D":
                self.gone.add(path)


def find_writer(line: str) -> str:
    """The session, or the person, who wrote a line."""
    found = LINE.match(line)
    return next((sid for sid in SESSIONS if found and sid.startswith(found[1])), PERSON)


class Story:
    """A repository, two sessions and a person at work in it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.agents = [world.agent(sid, tools=True) for sid in SESSIONS]
        self.count = 0
        self.said: list[str] = []
        # path -> the sessions that changed or moved what stands there, or stood
        self.touched: dict[str, set[str]] = {}
        self.removed: dict[str, str] = {}  # path -> the session that removed it last
        self.started: set[str] = set()
        world.git("config", "stash.showPatch", "false")
        for name in NAMES[:2]:
            world.write(name, "".join(self.line(PERSON) for _ in range(3)))
        world.commit()

    def plumb(self, *args: str) -> str:
        """git without hooks, configuration or gitcp."""
        env = {**os.environ, "GIT_INDEX_FILE": str(self.world.path / ".git/truth-index")}
        ended = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", *args],
            cwd=self.world.path,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stdout

    def line(self, who: str) -> str:
        self.count += 1
        return f"{who[:4] if who != PERSON else who} wrote line number {self.count} here\n"

    def list_files(self) -> list[str]:
        top = self.world.path
        found = (path for path in top.rglob("*") if path.is_file())
        names = (str(path.relative_to(top)) for path in found)
        return sorted(name for name in names if not name.startswith("."))

    def change(self, text: str, who: str) -> str:
        """A text with a line more, or one replaced, or one less."""
        lines = text.splitlines(keepends=True)
        at = self.chance.randrange(len(lines) + 1)
        how = self.chance.choice(("insert", "insert", "insert", "replace", "remove"))
        if how == "replace" and lines:
            lines[min(at, len(lines) - 1)] = self.line(who)
        elif how == "remove" and len(lines) > 1:
            del lines[min(at, len(lines) - 1)]
        else:
            lines.insert(at, self.line(who))
        return "".join(lines)

    # What an agent does.

    def call(self, agent: Agent, tool: str, given: dict[str, str]) -> None:
        """A turn of one call."""
        self.count += 1
        self.started.add(agent.sid)
        about: dict[str, Any] = {
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"call{self.count}",
        }
        agent.prompt(f"do thing {self.count}")
        agent.event("PreToolUse", **about)
        if tool == "Bash":
            subprocess.run(["sh", "-c", given["command"]], cwd=agent.cwd, check=True)
        else:
            path = Path(given["file_path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(given["content"])
        agent.answer(
            [{"type": "tool_use", "id": f"call{self.count}", "name": tool, "input": given}]
        )
        agent.event("PostToolUse", **about, tool_response={})
        agent.stop()

    def write(self) -> None:
        agent = self.chance.choice(self.agents)
        name = self.chance.choice(NAMES)
        path = self.world.path / name
        text = self.change(path.read_text() if path.exists() else "", agent.sid)
        self.tell(f"{agent.sid[:4]} writes {name}")
        self.touch(name, agent.sid)
        self.call(agent, "Write", {"file_path": str(path), "content": text})

    def remove(self) -> None:
        files = self.list_files()
        if len(files) > 2:
            agent, name = self.chance.choice(self.agents), self.chance.choice(files)
            self.tell(f"{agent.sid[:4]} removes {name}")
            self.touch(name, agent.sid)
            self.removed[name] = agent.sid
            self.call(agent, "Bash", {"command": f"rm {name}"})

    def move(self) -> None:
        files = self.list_files()
        free = [name for name in (*NAMES, "moved.txt") if name not in files]
        if files and free:
            agent = self.chance.choice(self.agents)
            old, new = self.chance.choice(files), self.chance.choice(free)
            self.tell(f"{agent.sid[:4]} moves {old} to {new}")
            self.touched.setdefault(new, set()).update(self.touched.get(old, ()))
            self.touch(old, agent.sid)
            self.removed[old] = agent.sid
            self.touch(new, agent.sid)
            folder = os.path.dirname(new) or "."
            command = f"mkdir -p {folder}; mv {old} {new}"
            if self.chance.random() < 0.3:
                self.said[-1] += " and goes on there"
                command += f"; echo '{self.line(agent.sid).rstrip()}' >>{new}"
            self.call(agent, "Bash", {"command": command})

    def touch(self, name: str, sid: str) -> None:
        self.touched.setdefault(name, set()).add(sid)

    # What the person does.

    def tell(self, what: str) -> None:
        self.said.append(what)

    def git(self, *args: str) -> None:
        self.tell("git " + " ".join(args))
        self.world.git(*args, ok=False, warns=".*")

    def edit(self) -> None:
        name = self.chance.choice(self.list_files() or ["one.txt"])
        path = self.world.path / name
        text = self.change(path.read_text() if path.exists() else "", PERSON)
        self.tell(f"person edits {name}")
        self.world.write(name, text)

    def delete(self) -> None:
        files = self.list_files()
        if len(files) > 2:
            name = self.chance.choice(files)
            self.tell(f"person deletes {name}")
            (self.world.path / name).unlink()
            self.removed.pop(name, None)

    def checkout(self) -> None:
        self.git("checkout", "--", self.chance.choice(self.list_files() or NAMES[:1]))

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"commit {self.count}")

    def commit_part(self) -> None:
        files = self.list_files()
        if files:
            self.git("add", "-A", "--", self.chance.choice(files))
            self.git("commit", "-q", "-m", f"part {self.count}")

    def stash(self) -> None:
        self.git("stash", "-q", *self.chance.choice(((), ("-u",))))

    def pop(self) -> None:
        """Take the newest entry back, where it fits."""
        if not self.plumb("stash", "list") or self.world.git("status", "--porcelain"):
            return
        self.git("stash", "pop", "-q")
        if self.world.git("ls-files", "-u"):
            self.git("reset", "-q", "--hard")

    def drop(self) -> None:
        if self.plumb("stash", "list"):
            self.git("stash", "drop", "-q")

    def reset(self) -> None:
        if int(self.plumb("rev-list", "--count", "HEAD")) > 2:
            self.git("reset", "-q", *self.chance.choice((("--soft",), (), ("--hard",))), "HEAD~1")

    # What the person does with gitcp.

    def run(self, *argv: str) -> None:
        ended = going.run(self.world, *argv)
        self.tell(f"gitcp {' '.join(argv)}: {ended.returncode}")
        assert ended.returncode in (0, 1, 128), ended

    def rewind(self) -> None:
        points = [point["id"] for point in going.points(self.world)]
        if points:
            self.run("rewind", "--files-only", "--force", "--to", self.chance.choice(points))

    def undo(self) -> None:
        self.run("undo", "-y")

    def stage(self) -> None:
        self.run("stage", "--session", self.chance.choice(self.agents).sid)
        if self.chance.random() < 0.7:
            self.git("commit", "-q", "-m", f"staged {self.count}")

    def split(self) -> None:
        self.run("split", "--no-edit")

    # What is true, and what is said.

    def read_tree(self) -> str:
        """The worktree as a tree."""
        self.plumb("add", "-A")
        return self.plumb("write-tree").strip()

    def ask(self, *argv: str) -> list[dict[str, Any]]:
        ended = going.run(self.world, *argv, "--json")
        assert ended.returncode in (0, 1), self.explain(ended)
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def check(self, every: bool) -> None:
        """Ask status, and one of the others that tell of uncommitted work, or each of them."""
        change = Change(self, "HEAD", self.read_tree())
        there = {path for path in self.touched if (self.world.path / path).exists()}
        self.removed = {
            path: sid
            for path, sid in self.removed.items()
            if path not in there and path in change.gone
        }
        asks = [self.ask_sessions, self.ask_show, self.ask_recap, self.ask_split, self.ask_lines]
        status, *records = self.ask("status", "-v")
        files = collect_files(records)
        self.compare("status", change, files)
        self.check_stash(status)
        for ask in asks if every else self.chance.sample(asks, 1):
            ask(change, files)

    def ask_sessions(self, change: Change, _: Owners) -> None:
        self.compare("sessions", change, collect_files(self.ask("sessions", "-a")))

    def ask_show(self, change: Change, _: Owners) -> None:
        shown = [record for sid in sorted(self.started) for record in self.ask("show", sid)]
        self.compare("show", change, collect_files(shown))

    def ask_recap(self, change: Change, _: Owners) -> None:
        recap = self.ask("recap", "--since", "2000-01-01")[0]
        self.compare("recap", change, collect_files(recap["open"]))
        days = [commit["oid"] for day in recap["days"] for commit in day["commits"]]
        stashed = set(self.plumb("stash", "list", "--format=%H").split())
        assert stashed.isdisjoint(days), self.explain("recap names the commits of a stash")

    def ask_split(self, change: Change, files: Owners) -> None:
        """What it would commit is what status names; it refuses where the index has other work."""
        ended = going.run(self.world, "split", "-n", "--json")
        refused = ended.returncode == 128 and "has staged changes" in ended.stderr
        assert ended.returncode in (0, 1) or refused, self.explain(ended)
        for share in map(json.loads, ended.stdout.splitlines()):
            for part in share["parts"] if share.get("session_id") else ():
                path, named = part["path"], files.get(part["path"], ())
                fault = f"split -n has {path} of {share['session_id']}, status names {named}"
                assert share["session_id"] in named and path in change.paths, self.explain(fault)

    def ask_lines(self, change: Change, _: Owners) -> None:
        """Whose each line is, of a file that differs, by blame; and of one by why."""
        names = sorted(change.paths - change.gone)
        name = self.chance.choice(names) if names else ""
        lines = (self.world.path / name).read_text().splitlines() if name else []
        if not lines:
            return
        true = [find_writer(line) for line in lines]
        said = [record["session_id"] or PERSON for record in self.ask("blame", name)]
        assert said == true, self.explain(f"blame {name}: {said}, true {true}")
        at = self.chance.randrange(len(lines))
        (origin,) = self.ask("why", f"{name}:{at + 1}")
        said_one = origin["session_id"] or PERSON
        assert said_one == true[at], self.explain(f"why {name}:{at + 1}: {origin}")

    def compare(self, name: str, change: Change, owners: Owners) -> None:
        """Whether each path is said to be of those whose lines it has, or who removed it."""
        for path in sorted({*owners, *change.paths}):
            said, must, may = owners.get(path, set()), set(change.owners.get(path, ())), set[str]()
            if path in self.removed:
                must.add(self.removed[path])
            if path in change.paths:
                may = self.touched.get(path, set())
            fault = f"{name} says {sorted(said)} of {path}, true is {sorted(must)} to {sorted(may)}"
            assert must <= said <= must | may, self.explain(fault)

    def check_stash(self, status: dict[str, Any]) -> None:
        """The sessions whose lines each entry has."""
        entries = self.plumb("stash", "list", "--format=%H").split()
        said: Owners = {}
        for row in status.get("stashes", ()):
            said[row["stash"]] = set(row["sessions"])
        for number, oid in enumerate(entries):
            changes = [Change(self, f"{oid}^1", oid)]
            if len(self.plumb("rev-list", "--parents", "-n", "1", oid).split()) == 4:
                changes.append(Change(self, EMPTY, f"{oid}^3", f"{oid}^1"))
            must = {sid for change in changes for names in change.owners.values() for sid in names}
            paths = {path for change in changes for path in change.paths}
            may = must | {sid for path in paths for sid in self.touched.get(path, ())}
            named = said.get(f"stash@{{{number}}}", set())
            fault = f"stash@{{{number}}} is said to have work of {named}, true is {must}"
            assert must <= named <= may, self.explain(fault)

    def explain(self, *what: object) -> str:
        return "\n".join([*map(str, what), "after:", *self.said])

    def play(self, steps: int) -> None:
        acts = [self.write] * 8 + [self.remove, self.move, self.edit, self.edit, self.delete]
        acts += [self.checkout, self.commit, self.commit_part, self.commit_part, self.stash]
        acts += [self.pop, self.pop, self.drop, self.reset, self.rewind, self.rewind, self.undo]
        acts += [self.stage, self.split]
        for n in range(steps):
            self.chance.choice(acts)()
            self.check(every=n == steps - 1)


EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def collect_files(records: Iterable[dict[str, Any]]) -> Owners:
    """path -> the sessions that records of sessions name for it."""
    owners: Owners = {}
    for record in records:
        for path in record.get("files_touched") or ():
            owners.setdefault(path, set()).add(record["session_id"])
    return owners


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(STORIES))
def test_what_is_said_of_work_is_what_git_has(world: World, number: int) -> None:
    Story(world, SEED + number).play(STEPS)
