"""Repositories that share one remote, and what they write and push."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp.checkpoints import writing
from gitcp.checkpoints.share import places, sync
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.checkpoints import git, session


@pytest.fixture
def bare(repo: Path, tmp_path: Path) -> Path:
    path = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(repo), str(path))
    return path


def clone(bare: Path, name: str) -> Repo:
    path = bare.parent / name
    git("clone", "-q", str(bare), str(path))
    git("config", "gitcp.place", str(bare), cwd=path)
    return Repo.find(str(path))


def write(repo: Repo, cid: str, sid: str = "s", **metadata: object) -> None:
    with Objects(repo):
        writing.write_sessions(repo, [(cid, session(sid, None, **metadata))])


def push(repo: Repo, name: str = "origin", again: bool = True) -> int:
    """Push as a hook does; how many merges that took."""
    merges = 0
    with Objects(repo):
        for place in places.find_places(repo, name):
            merges += sync.push_store(repo, place, 30, again=again).merges
    return merges
