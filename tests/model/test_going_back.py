"""Random work of sessions and the person, and going back over it, against full copies.

Worktrees with modes, links, line ends, a filter, files where directories were; shell calls that
throw work away; the person between the hooks; every kind of point, undo and redo.  The oracle
copies every file, with who made it, at each moment that is a point.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.steps.rewind.going import run
from tests.support.harness import Agent, World

STEPS = 2000 if os.environ.get("LONG") else 40
SEED = int(os.environ.get("SEED", "1"))
ME = "me"
PATHS = ["a.py", "b b.py", "caf\u00e9.txt", "d", "d/e.py", "d/f/g.py", "d/f", "src/app.py", "src"]
PATHS += ["README.md", "win.crlf", "low.up", "secret.key", "sub/mixed.txt", "sub/other.txt"]
IGNORED = "build/out.log"

Seen = tuple[str, int, bytes, str]  # kind, permissions, content, what git calls it
File = tuple[str, int, bytes, str, str]  # the same, who made it
Files = dict[str, File]


def look(world: World) -> dict[str, Seen]:
    """Every file of a worktree but git's own."""
    top, files, known = world.path, dict[str, Seen](), entries(world)
    for folder, folders, names in os.walk(top):
        folders[:] = [n for n in folders if n != ".git" or Path(folder) != top]
        for name in [*names, *(n for n in folders if os.path.islink(os.path.join(folder, n)))]:
            full = os.path.join(folder, name)
            path, st = os.path.relpath(full, top), os.lstat(full)
            entry = known.get(path, "")
            if stat.S_ISLNK(st.st_mode):
                files[path] = ("link", 0, os.fsencode(os.readlink(full)), entry)
            else:
                files[path] = ("file", stat.S_IMODE(st.st_mode), Path(full).read_bytes(), entry)
    return files


def entries(world: World) -> dict[str, str]:
    """path -> mode and blob, as `git add` would store it, of all that git does not ignore."""
    env = {**os.environ, **world.env, "GIT_INDEX_FILE": str(world.path / ".git/oracle-index")}
    ended = subprocess.run(["git", "add", "-A"], cwd=world.path, env=env, capture_output=True)
    assert ended.returncode == 0, ended
    listed = subprocess.check_output(["git", "ls-files", "-sz"], cwd=world.path, env=env)
    rows = (row.split("\t") for row in listed.decode().split("\0")[:-1])
    return {path: about.removesuffix(" 0") for about, path in rows}


def is_below(path: str, other: str) -> bool:
    return path.startswith(other + "/")


class Model:
    """A worktree, two agents and a person in it, and the copies of what it was."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.agents = [
            world.agent(f"{n}{n}{n}{n}0000-aaaa-4a87-9186-848bdd83d62e", tools=True) for n in "12"
        ]
        self.busy: dict[str, Agent] = {}  # sid -> an agent in its turn
        self.calls = 0
        self.points: dict[str, Files] = {}
        self.steps: list[tuple[Files, Files, int]] = []  # before, after, the step they stand on
        self.at, self.undone = -1, list[int]()
        self.tracked = set(world.git("ls-files").splitlines())
        self.makers: dict[tuple[str, str], str] = {}  # of a content at a path: it may come back
        self.now = dict[str, File]()
        self.see(ME)
        self.said, self.unseen = "", False
        for agent in self.agents:  # a client that tells of its tools: a whole turn explains nothing
            self.busy = {agent.sid: agent}
            agent.prompt("look around")
            self.call("Bash", "true")
            self.stop()

    def see(self, who: str) -> None:
        """Take in what somebody did: who makes what was not there is its maker, also when its
        content comes back."""
        before, self.now = self.now, {}
        for path, item in look(self.world).items():
            known = before.get(path)
            maker = self.makers.setdefault((path, item[3]), known[4] if known else who)
            self.now[path] = (*item, maker)

    # What is done to files.

    def clear(self, path: str) -> None:
        top = self.world.path
        for above in list(Path(path).parents)[-2::-1]:
            if (top / above).is_symlink() or (top / above).is_file():
                (top / above).unlink()
        full = top / path
        if full.is_dir() and not full.is_symlink():
            shutil.rmtree(full)
        elif full.is_symlink() or full.exists():
            full.unlink()

    def write(self, path: str) -> None:
        """One change of a path: content, permissions, a link, a file for a directory."""
        full, lines = self.world.path / path, self.chance.randint(1, 6)
        text = "".join(f"line {self.chance.randint(0, 10**6)}\n" for _ in range(lines))
        how = self.chance.choice(("new", "append", "link", "mode", "gone", "crlf"))
        if how == "mode" and full.is_file() and not full.is_symlink():
            full.chmod(self.chance.choice((0o644, 0o600, 0o755, 0o700, 0o640)))
            return
        if how == "append" and full.is_file() and not full.is_symlink():
            with full.open("a") as f:
                f.write(text)
            return
        self.clear(path)
        if how == "gone":
            return
        full.parent.mkdir(parents=True, exist_ok=True)
        if how == "link":
            full.symlink_to(f"{self.chance.choice(PATHS)}{self.chance.choice(('', '-none'))}")
            return
        full.write_bytes((text.replace("\n", "\r\n", 2) if how == "crlf" else text).encode())
        if self.chance.random() < 0.2:
            full.chmod(0o600)

    # What people and agents do.

    def person(self) -> None:
        """Change some paths, after a look: what goes and comes in between nobody sees."""
        if self.unseen:
            self.call("Bash", "true")
        if self.unseen:
            return
        for path in self.chance.sample([*PATHS, "mine.txt", "notes/mine.md"], 2):
            self.write(path)
        self.unseen = True
        self.see(ME)

    def prompt(self) -> None:
        agent = self.chance.choice(self.agents)
        if agent.sid in self.busy:
            return
        agent.prompt(f"prompt {self.calls}")
        self.busy[agent.sid] = agent

    def stop(self) -> None:
        if not self.busy:
            return
        _, agent = self.busy.popitem()
        tips = self.tips()
        agent.stop()
        for tip in self.tips() - tips:
            self.points[tip] = dict(self.now)

    def tips(self) -> set[str]:
        refs = self.world.refs("refs/heads/entire")
        return {oid for ref, oid in refs.items() if not ref.endswith("/v1")}

    def tool(self) -> None:
        """A file tool of an agent in its turn; a deletion that no hook saw has no time of its own:
        then a shell call comes first, which looks."""
        if self.unseen:
            self.shell()
        path = self.world.path / self.chance.choice(PATHS)
        folders = [above for above in path.parents if above != self.world.path]
        if not path.is_dir() and not any(f.is_file() or f.is_symlink() for f in folders):
            self.call("Write", str(path.relative_to(self.world.path)))

    def shell(self) -> None:
        """A shell call, which writes or throws work away."""
        names = [p for p in self.chance.sample(PATHS, 2) if (self.world.path / p).is_file()]
        file, new = f"'{names[0]}'" if names else "nothing", f"new {self.chance.random()}"
        commands = ["git checkout -- .", "git reset -q --hard", "git clean -fdq", "git stash -q -u"]
        commands += [f"git checkout -- {file}", f"rm -f {file}", f": >{file}", f"mv {file} b.py"]
        commands += [
            f"rm -f {file}; echo {new} >{file}",
            f"rm -rf d; echo {new} >d",
            "git restore .",
        ]
        commands += ["git stash pop -q", f"chmod 600 {file}", f"echo {new} >>{file}", "rm -rf src"]
        self.call("Bash", self.chance.choice(commands) if self.chance.random() < 0.7 else "write")

    def call(self, tool: str, what: str) -> None:
        """A call from its start to its end; what: the path it writes, or its command."""
        if not self.busy:
            return
        agent = self.chance.choice(list(self.busy.values()))
        self.calls += 1
        name, full = f"call{self.calls:06d}", self.world.path / what
        given = {"file_path": str(full)} if tool == "Write" else {"command": what}
        about: dict[str, Any] = {"tool_name": tool, "tool_input": given, "tool_use_id": name}
        agent.event("PreToolUse", **about)
        self.unseen = False
        before = dict(self.now)
        if tool == "Write":
            if full.is_symlink():
                full.unlink()
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(f"{name}\n" * 3)
        elif what == "write":
            for written in self.chance.sample(PATHS, 2):
                self.write(written)
        else:
            subprocess.run(["sh", "-c", what], cwd=self.world.path, capture_output=True)
        agent.answer([{"type": "tool_use", "id": name, "name": tool, "input": given}])
        agent.event("PostToolUse", **about, tool_response={})
        self.see(agent.sid)
        if {p: f[3] for p, f in before.items()} != {p: f[3] for p, f in self.now.items()}:
            self.points[name], self.points[name + ":after"] = before, dict(self.now)

    # Going back.

    def rewind(self) -> None:
        if not self.points:
            return
        name = self.chance.choice(list(self.points))
        wanted = self.expected(self.points[name])
        self.step(["rewind", "--files-only", "--force", "--to", name], wanted, f"rewind to {name}")

    def expected(self, then: Files) -> Files | None:
        """The files after going to a moment; None where something of the person is in the way."""
        wanted = dict(then)
        for path, item in self.now.items():
            if path not in then and path not in self.tracked and item[4] == ME and path != IGNORED:
                wanted[path] = item
        if any(is_below(path, other) for path in wanted for other in wanted):
            return None
        return wanted

    def undo(self) -> None:
        if self.at < 0:
            return
        before, after, parent = self.steps[self.at]
        wanted = self.moved(after, before)
        if wanted is not None and self.step(["undo"], wanted, "undo", log=False):
            self.undone.append(self.at)
            self.at = parent

    def redo(self) -> None:
        here = [n for n in self.undone if self.steps[n][2] == self.at]
        if not here:
            return
        before, after, _ = self.steps[here[-1]]
        wanted = self.moved(before, after)
        if wanted is not None and self.step(["redo"], wanted, "redo", log=False):
            self.at = here[-1]

    def moved(self, old: Files, new: Files) -> Files | None:
        """The files when the change from old to new is made in what is there now; None where
        what it changes has changed since, for a merge is tried elsewhere."""
        wanted = dict(self.now)
        for path in {*old, *new}:
            was, becomes, here = old.get(path), new.get(path), self.now.get(path)
            if was == becomes:
                continue
            if (here and here[:4]) not in ((was and was[:4]), (becomes and becomes[:4])):
                return None
            wanted.pop(path, None)
            wanted |= {path: becomes} if becomes else {}
        if any(is_below(path, other) for path in wanted for other in wanted):
            return None
        return wanted

    def step(self, argv: list[str], wanted: Files | None, why: str, log: bool = True) -> bool:
        """Run a command: the worktree becomes what is wanted, or stays where None is."""
        before = dict(self.now)
        ended = run(self.world, *argv)
        self.said = f"{why}\n{ended.stdout}\n{ended.stderr}"
        now = look(self.world)
        if wanted is None:
            assert ended.returncode == 128, self.said
            assert now == {p: f[:4] for p, f in before.items()}, self.said
            return False
        assert ended.returncode == 0, self.said
        difference = self.compare(now, wanted, exact=not log)
        assert not difference, f"{self.said}\n{difference}"
        self.see(ME)
        if "nothing changed" in ended.stdout:
            return False
        if log:
            self.steps.append((before, dict(self.now), self.at))
            self.at = len(self.steps) - 1
        return True

    def compare(self, now: dict[str, Seen], wanted: Files, exact: bool) -> str:
        """What differs, a line each; not exact: a path gets what git calls the same, what it has
        already stays, and so do its permissions."""
        differing = []
        for path in sorted({*now, *wanted}):
            here, should, was = now.get(path), wanted.get(path), self.now.get(path)
            if not exact and should and here and should[3] == here[3]:
                if was and was[3] == here[3]:
                    should = was
                elif was and was[0] == here[0] == "file":
                    should = (here[0], (was[1] & 0o666) | (here[1] & 0o111), *here[2:], "")
                else:
                    should = (*here, "")
            if here != (should[:4] if should else None):
                differing.append(f"{path}: is {here}, should be {should}, was {was}")
        return "\n".join(differing)


def prepare(world: World) -> None:
    """A repository with attributes, a filter, an ignored file, and files of each kind."""
    world.git("config", "filter.up.clean", "tr A-Z a-z")
    world.git("config", "filter.up.smudge", "tr a-z A-Z")
    world.write(".gitattributes", "*.crlf text eol=crlf\n*.up filter=up\nsub/*.txt text eol=crlf\n")
    world.write(".gitignore", "build/\n")
    world.write("win.crlf", "one\r\ntwo\r\n")
    world.write("low.up", "LOUD\n")
    world.write("d/e.py", "e\n")
    world.commit()
    world.write(IGNORED, "precious\n")


@pytest.mark.thorough
@pytest.mark.parametrize("streams", ["overlap", "suffix"])
def test_every_point_gives_back_the_copy_of_its_moment(world: World, streams: str) -> None:
    world.git("config", "gitcp.streams", streams)
    prepare(world)
    model = Model(world, SEED + len(streams))
    acts = [model.prompt, model.prompt, model.tool, model.tool, model.shell, model.shell]
    acts += [model.shell, model.stop, model.person, model.rewind, model.rewind, model.undo]
    acts += [model.undo, model.redo]
    model.prompt()
    for number in range(STEPS):
        act = model.chance.choice(acts)
        try:
            act()
        except AssertionError as e:
            raise AssertionError(f"step {number}, {act.__name__}: {e}") from None
    assert model.steps
