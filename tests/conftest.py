"""A sealed world for every test: no user's git, no user's home, the same dates."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp import memory
from tests.support import commit_forms, frozen, gits, warm
from tests.support.copies import plant
from tests.support.frozen import Frozen
from tests.support.harness import Agent, World, enabled
from tests.support.paths import TOP
from tests.support.scenes import Scenes
from tests.support.sealed import SEALED, environment

# What an agent puts into the environment of the hooks it runs must not leak in from outside.
AGENTS = ("CLAUDE", "CODEX", "GEMINI")
# What make test-plain chooses for a whole run, which every test is to have.
PLAIN = "GITCP_PLAIN"
# Where Linux keeps files in memory, and how much of it the tests may need.
MEMORY, ROOM = "/dev/shm", 4 << 30


def pytest_configure() -> None:
    """Write what tests write to memory, where there is room and nobody named another place: on a
    disk they wait for it half of their time.  While tests are collected nothing is garbage."""
    gc.disable()
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        tempfile.tempdir = MEMORY


def _has_room(folder: str) -> bool:
    """Whether programs may be written to a folder and run there, and much else fits into it."""
    if not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free >= ROOM


def pytest_collection_finish() -> None:
    """No test is garbage before the end, and little is made of a cycle: what looks for some takes
    a tenth of a worker's time."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.fixture(scope="session")
def search_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PATH with the python3 of the tests before any other: that of a version manager is a script
    that costs as much as ten of our programs."""
    folder = tmp_path_factory.mktemp("bin")
    warm.stand_in(folder / "python3")
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, search_path: str) -> None:
    """No test sees the user's git or agent: not the environment, not the configuration; nor
    where the test before it has left this process."""
    monkeypatch.chdir(TOP)
    # A command run in this process makes SIGPIPE deadly, as a command should: not for pytest.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # A script that runs us in the background has it ignored, and so would every child.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What an earlier test's command had to leave out, or might fetch, is not this one's.
    memory.forget()
    for name in [n for n in os.environ if n.startswith(("GIT_", "GITCP_", *AGENTS))]:
        if name != PLAIN:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    ours = {"PATH": search_path, "HOME": str(home), "TMPDIR": str(tmp_path)}
    for name, value in {**SEALED, **ours}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, made once; copying it is cheaper than running git."""
    path = tmp_path_factory.mktemp("template")
    env = {"PATH": os.environ["PATH"], "HOME": str(path), **SEALED}

    def git(*args: str) -> None:
        subprocess.run(["git", *args], cwd=path, env=env, check=True)

    git("init", "-q", "-b", "main", "--template=")
    git("config", "maintenance.auto", "false")  # git's own upkeep has nothing to do in a test
    (path / "README.md").write_text("line one\nline two\nline three\n")
    (path / "src").mkdir()
    (path / "src" / "app.py").write_text("print('app')\n")
    git("add", ".")
    git("commit", "-q", "-m", "initial")
    (path / "src" / "lib.py").write_text("def lib():\n    return 1\n")
    git("add", ".")
    git("commit", "-q", "-m", "add lib")
    return path


@pytest.fixture
def repo(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy of the template; the current directory of the test."""
    path = plant(template, tmp_path / "repo")
    monkeypatch.chdir(path)
    return path


@pytest.fixture(scope="session")
def ground(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with gitcp enabled."""
    at = tmp_path_factory.mktemp("ground")
    with environment(HOME=str(at)):
        return enabled(template, at / "repo")


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    """A repository with gitcp enabled, two commits, nothing changed."""
    path = plant(ground, tmp_path / "repo")
    made = World(path, tmp_path / "home")
    yield made
    made.close()


@pytest.fixture(scope="session")
def frozen_store(tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    """A repository with a small store of the original program, which tests only read."""
    return frozen.build(tmp_path_factory.mktemp("frozen") / "shop")


@pytest.fixture(scope="session")
def large_store(tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    """The same with a hundred commits, each with a conversation, and 400 tasks of these."""
    return frozen.build(tmp_path_factory.mktemp("frozen") / "large", conversations=100)


@pytest.fixture
def older_git(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that runs no configured hooks, for what is said of hooks in files, which a world of the
    test then has."""
    names = [name for name in ("world", "enabled") if name in request.fixturenames]
    worlds: list[World] = [request.getfixturevalue(name) for name in names]
    monkeypatch.setenv("PATH", gits.find_older())
    for world in worlds:
        world.gitcp("enable")


@pytest.fixture(scope="session")
def scenes(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenes]:
    """What many tests of a file begin with, each made once."""
    made = Scenes(ground, tmp_path_factory)
    yield made
    made.close()


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("session-a")


@pytest.fixture
def b(world: World) -> Agent:
    return world.agent("session-b")


@pytest.fixture(scope="session")
def work_done(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return commit_forms.worked(ground, tmp_path_factory.mktemp("worked"))


@pytest.fixture
def worked(work_done: Path, tmp_path: Path) -> Iterator[World]:
    """A world in which a session has done its turn, and nothing is committed."""
    yield from commit_forms.copied(work_done, tmp_path)
