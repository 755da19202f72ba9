"""What hooks remember of a commit that was made, and of those that were judged."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gitcp import record
from gitcp.git.repo import Repo
from gitcp.record import match, session
from tests.support import gits
from tests.support.harness import World

ID, OTHER = "a1b2c3d4e5f6", "0123456789ab"
DIRECT: dict[str, Any] = {"how": "environment", "paths": [], "reasons": {}}


@pytest.fixture
def repo(world: World) -> Repo:
    """Of a commit that names ID, made without hooks."""
    message = f"a change\n\nEntire-Checkpoint: {ID}\n"
    world.git(*gits.SILENT, "commit", "-q", "--allow-empty", "-m", message)
    return Repo.find(str(world.path))


def verdict(repo: Repo, **more: Any) -> Any:
    parent = repo.git.read_line("rev-parse", "HEAD^").decode().strip()
    maker = session.describe(os.getpid())
    told = {"id": ID, "head": parent, "parent": parent, "sessions": {"s": DIRECT}, "maker": maker}
    return match.Verdict(**{**told, **more})


def is_unkept(repo: Repo, stored: Any) -> bool:
    match.save_verdict(repo, stored)
    with record.open_context(repo) as ctx:
        return match.lacks_checkpoint(ctx)


def test_a_promise_is_unkept_while_the_commit_names_it_and_nothing_is_stored(
    world: World, repo: Repo
) -> None:
    assert is_unkept(repo, verdict(repo))
    assert not is_unkept(repo, verdict(repo, id=""))
    assert not is_unkept(repo, verdict(repo, id=OTHER))
    stored = verdict(repo)
    world.git("switch", "-q", "--orphan", "unborn")
    assert not is_unkept(Repo.find(str(world.path)), stored)


def test_a_commit_is_pending_while_the_git_that_makes_it_runs(repo: Repo) -> None:
    now = verdict(repo)
    for stored, ids, parent, pending in (
        (now, [OTHER, ID], now.parent, True),
        (now, [OTHER], now.parent, False),
        (now, [ID], "0" * 40, False),
        (verdict(repo, sessions={}), [ID], now.parent, False),
        (verdict(repo, maker={**now.maker, "start": "1"}), [ID], now.parent, False),
    ):
        match.save_verdict(repo, stored)
        assert match.is_pending(repo, ids, parent) is pending
