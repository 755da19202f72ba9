"""Two versions at work in one repository, as pipx, a checkout and two worktrees have them: each
reads what the other wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import Call, World
from tests.support.linking import ids, sound
from tests.support.paths import TOP

pytestmark = pytest.mark.thorough
# A version of the project's own history, with which repositories are in use.
OLDER = "f1c32d8d"
OLD, NEW = "old", "new"


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The older version, unpacked."""
    argv = ["git", "-C", str(TOP), "archive", OLDER, "gitcp", "bin", "share", "man"]
    done = subprocess.run(argv, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"the history here has no commit {OLDER}")
    at = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(at, filter="data")
    return at


class Both:
    """A repository in which either version runs."""

    def __init__(self, world: World, older: Path) -> None:
        self.world, self._tops = world, {OLD: older, NEW: TOP}
        self._is_enabled_by = ""

    def agent(self, version: str) -> None:
        """Let the agent's hooks be of this version."""
        entry = self._tops[version] / "gitcp" / "entry.py"

        def run_hook(args: list[str], cwd: Path, env: Any, payload: bytes) -> Call:
            return self._run([sys.executable, "-I", "-S", str(entry), *args], cwd, payload, env)

        self.world.run_hook = run_hook  # type: ignore[method-assign]

    def git(self, version: str) -> None:
        """Let git's hooks be of this version."""
        if self._is_enabled_by != version:
            assert self.command(version, "enable", "--force").status == 0
            hook = self.world.path / ".git" / "hooks" / "post-commit"
            assert str(self._tops[version]) in hook.read_text()
            self._is_enabled_by = version

    def command(self, version: str, name: str, *args: str) -> Call:
        program = self._tops[version] / "bin" / f"gitcp-{name}"
        return self._run([sys.executable, str(program), *args], self.world.path, b"")

    def tell(self, version: str, name: str, *args: str) -> str:
        done = self.command(version, name, *args)
        assert (done.status, done.stderr) == (0, ""), (version, name, done)
        return done.stdout

    def _run(self, argv: list[str], cwd: Path, stdin: bytes, env: Any = None) -> Call:
        env = {**os.environ, **self.world.env} if env is None else env
        done = subprocess.run(argv, cwd=cwd, env=env, input=stdin, capture_output=True, check=False)
        return Call(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def both(world: World, older: Path) -> Iterator[Both]:
    world.env["COLD"] = "1"
    yield Both(world, older)


def list_authors(both: Both, version: str, path: str) -> list[str]:
    """Who wrote each line of a file, and in which session."""
    rows = map(json.loads, both.tell(version, "blame", "--json", path).splitlines())
    return [row.get("session_id") or row["who"] for row in rows if row.get("who")]


@pytest.mark.parametrize("first", [OLD, NEW])
@pytest.mark.parametrize("hooks", ["same", "other"])
def test_each_goes_on_where_the_other_left(both: Both, first: str, hooks: str) -> None:
    world, second = both.world, NEW if first == OLD else OLD
    a = world.agent("session-a", tools=True)

    def take(version: str) -> None:
        both.agent(version)
        both.git(version if hooks == "same" else {OLD: NEW, NEW: OLD}[version])

    take(first)
    a.start()
    a.prompt("write two files")
    a.write("one.txt", "one\n")
    take(second)
    a.write("two.txt", "two\n")
    a.stop()
    world.write("mine.txt", "mine\n")
    take(first)
    assert len(world.commit("one.txt", "mine.txt")) == 1
    take(second)
    assert len(world.commit("two.txt")) == 1
    before = ids(world)
    take(first)
    world.git("commit", "-q", "--amend", "-m", "said better")
    assert ids(world) == before
    a.turn("go on", {"one.txt": "one\nmore\n"})
    take(second)
    world.git("commit", "-q", "-a", "-m", "more")
    a.end()
    sound(world)
    for version in (OLD, NEW):
        assert list_authors(both, version, "one.txt") == [a.sid, a.sid]
        assert list_authors(both, version, "two.txt") == [a.sid]
        assert list_authors(both, version, "mine.txt") == ["person"]
    assert both.tell(NEW, "doctor") == "nothing is wrong here\n"


@pytest.mark.parametrize(("first", "second"), [(OLD, NEW), (NEW, OLD)])
def test_each_takes_back_and_undoes_what_the_other_recorded(
    both: Both, first: str, second: str
) -> None:
    world = both.world
    a = world.agent("session-a", tools=True)
    both.agent(first)
    both.git(first)
    a.start()
    a.turn("one", {"f.txt": "one\n"})
    a.turn("two", {"f.txt": "two\n"})
    points = both.tell(second, "rewind", "--list", "--json").splitlines()
    point = next(p["id"] for p in map(json.loads, points) if p.get("session_prompt") == "one")
    both.tell(second, "rewind", "--files-only", "--to", point)
    assert world.read("f.txt") == "one\n"
    both.tell(first, "undo")
    assert world.read("f.txt") == "two\n"
    both.tell(second, "redo")
    assert world.read("f.txt") == "one\n"
    both.agent(second)
    both.git(second)
    a.turn("three", {"g.txt": "three\n"})
    assert len(world.commit()) == 1
    for version in (OLD, NEW):
        assert list_authors(both, version, "f.txt") == [a.sid]
        assert list_authors(both, version, "g.txt") == [a.sid]
    sound(world)


def test_the_older_refuses_to_undo_what_it_does_not_know(both: Both) -> None:
    world = both.world
    a = world.agent("session-a", tools=True)
    both.agent(NEW)
    both.git(NEW)
    a.start()
    a.turn("one", {"f.txt": "one\n"})
    both.tell(NEW, "stage", "--session", a.sid)
    staged = world.git("ls-files", "--stage")
    done = both.command(OLD, "undo")
    assert done.status == 128, done
    assert "changed since" in done.stderr
    assert world.git("ls-files", "--stage") == staged
    both.tell(NEW, "undo")
    assert world.git("ls-files", "--stage") != staged
