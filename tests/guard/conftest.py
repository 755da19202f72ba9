"""A working copy of each kind, made once and copied; without jj those of jj are skipped.

What needs a later git than this machine's is left out: a skip is a failure in CI.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.guard import working_copies
from tests.guard.working_copies import KINDS, Copy
from tests.support.copies import plant
from tests.support.sealed import environment

_GIT = subprocess.run(["git", "version"], capture_output=True, text=True).stdout.split()[2]
collect_ignore = [] if tuple(map(int, _GIT.split(".")[:2])) >= (2, 42) else ["test_jj_fetch.py"]
JJ = {"JJ_USER": "J J User", "JJ_EMAIL": "jj@example.com", "JJ_CONFIG": os.devnull}


@pytest.fixture(autouse=True)
def with_jj(sealed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """jj on PATH where there is one, and nothing of the person's configuration of it."""
    folder = working_copies.jj_folder()
    if folder:
        monkeypatch.setenv("PATH", folder + os.pathsep + os.environ["PATH"])
    for name, value in JJ.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def pids() -> Iterator[tuple[int, ...]]:
    """Two processes that stand for the agents of sessions A and B."""
    sleepers = [subprocess.Popen(["sleep", "3600"]) for _ in range(2)]
    yield tuple(sleeper.pid for sleeper in sleepers)
    for sleeper in sleepers:
        sleeper.kill()
        sleeper.wait()


@pytest.fixture(scope="session")
def grounds(
    template: Path, tmp_path_factory: pytest.TempPathFactory, pids: tuple[int, ...]
) -> Iterator[Callable[[str], Path]]:
    """kind -> a working copy of it with gitcp enabled and two sessions at work."""
    made: dict[str, Path] = {}

    def ground(kind: str) -> Path:
        if kind not in made:
            at = tmp_path_factory.mktemp("ground") / "repo"
            folder = working_copies.jj_folder()
            if kind != "git" and not folder:
                pytest.skip("jj is not installed: .ci/get-jj provides one")
            path = (folder + os.pathsep if folder else "") + os.environ["PATH"]
            with environment(**JJ, HOME=str(at.parent), PATH=path):
                made[kind] = working_copies.made(kind, template, at, pids)
        return made[kind]

    yield ground


@pytest.fixture
def new_copy(
    grounds: Callable[[str], Path], tmp_path: Path, pids: tuple[int, ...]
) -> Iterator[Callable[[str], Copy]]:
    """kind -> a fresh working copy."""
    made: list[Copy] = []

    def copy(kind: str) -> Copy:
        path = plant(grounds(kind), tmp_path / f"repo-{len(made)}")
        made.append(Copy(path, tmp_path / "home", kind=kind, pids=pids))
        made[-1].register()
        return made[-1]

    yield copy
    for one in made:
        one.close()


@pytest.fixture(params=KINDS)
def copy(request: pytest.FixtureRequest, new_copy: Callable[[str], Copy]) -> Copy:
    """A fresh working copy of each kind."""
    return new_copy(request.param)


@pytest.fixture
def git_copy(new_copy: Callable[[str], Copy]) -> Copy:
    """A fresh git worktree, for what has nothing to do with the kind."""
    return new_copy("git")
