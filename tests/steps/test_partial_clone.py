"""In a partial clone no command fetches unasked what it writes to a new directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.steps.rewind.going import run
from tests.support.harness import V1, World


@pytest.fixture
def asked(world: World, tmp_path: Path) -> Path:
    """The world is a partial clone, which lacks a file's content before the last commit; this file
    exists once the remote was asked for an object."""
    world.agent("s1").turn("write", {"a.txt": "one\n"})
    world.commit("a.txt")
    world.agent("s2").turn("write it anew", {"a.txt": "two\n"})
    world.commit("a.txt")
    for key in ("allowFilter", "allowAnySHA1InWant"):
        world.git("config", f"uploadpack.{key}", "true")
    clone = tmp_path / "clone"
    world.git("clone", "-q", "--filter=blob:none", world.path.as_uri(), str(clone))
    world.path = clone
    world.gitcp("enable")
    world.git("update-ref", V1, f"origin/{V1.removeprefix('refs/heads/')}")
    log, server = tmp_path / "asked", tmp_path / "server"
    server.write_text(f'#!/bin/sh\necho . >>{log}\nexec git-upload-pack "$@"\n')
    server.chmod(0o755)
    world.git("config", "remote.origin.uploadpack", str(server))
    return log


def test_a_committed_point_in_a_new_directory_is_not_fetched_for(
    world: World, asked: Path, tmp_path: Path
) -> None:
    ended = run(world, "rewind", "--to", world.git("rev-parse", "HEAD~1"), "--into", "../new")
    assert ended.returncode == 128, ended
    assert "the content of 'a.txt' was left with the remote" in ended.stderr
    assert "'git fetch --refetch --no-filter'" in ended.stderr
    assert not asked.exists() and not (tmp_path / "new").exists()
    assert world.git("worktree", "list").count("\n") == 0
    world.git("fetch", "-q", "--refetch", "--no-filter")
    ended = run(world, "rewind", "--to", world.git("rev-parse", "HEAD~1"), "--into", "../new")
    assert (tmp_path / "new" / "a.txt").read_text() == "one\n", ended


def test_a_bisection_does_not_fetch_what_it_tests(world: World, asked: Path) -> None:
    ended = run(world, "bisect", "HEAD~1", "--", "sh", "-c", "! grep two a.txt")
    assert ended.returncode == 128, ended
    assert "the content of 'a.txt' was left with the remote" in ended.stderr
    assert not asked.exists()
