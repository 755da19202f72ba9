"""An index that is older than a commit would set the files of that commit back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.harness import Agent, World


def commit(world: World, **env: str) -> str:
    """What `git commit` says on stderr."""
    ended = subprocess.run(
        ["git", "commit", "-q", "-m", "mine"],
        cwd=world.path,
        env={**os.environ, **world.env, **env},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended
    return ended.stderr


def two(world: World, tmp_path: Path) -> str:
    """A session writes g.txt and adds it to an index of its own, made before another commit."""
    world.write("f.txt", "one\n")
    world.commit()
    private = tmp_path / "private"
    shutil.copyfile(world.path / ".git" / "index", private)
    agent: Agent = world.agent("11111111-aaaa-4a87-9186-848bdd83d62e")
    agent.turn("work", {"g.txt": "mine\n"})
    world.write("f.txt", "two\n")
    world.commit("f.txt")
    env = {**os.environ, "GIT_INDEX_FILE": str(private)}
    subprocess.run(["git", "add", "g.txt"], cwd=world.path, env=env, check=True)
    return str(private)


def test_the_files_that_it_would_set_back_are_named(world: World, tmp_path: Path) -> None:
    private = two(world, tmp_path)
    told = world.git("rev-parse", "--short=8", "HEAD")
    said = commit(world, GIT_INDEX_FILE=private)
    assert f"warning: 'f.txt' is staged as it was before {told} (commit f.txt)" in said
    assert "'git restore --staged <path>'" in said


def test_an_index_that_was_brought_up_to_date_is_not(world: World, tmp_path: Path) -> None:
    private = two(world, tmp_path)
    env = {**os.environ, "GIT_INDEX_FILE": private}
    restore = ["git", "restore", "--staged", "f.txt"]
    subprocess.run(restore, cwd=world.path, env=env, check=True)
    assert commit(world, GIT_INDEX_FILE=private) == ""


def test_a_branch_that_moved_below_the_worktree_is_noticed(world: World, tmp_path: Path) -> None:
    two(world, tmp_path)
    side = tmp_path / "side"
    world.git("worktree", "add", "-q", "--detach", str(side))
    (side / "f.txt").write_text("three\n")
    world.git("commit", "-q", "-a", "-m", "from the side", cwd=side)
    oid = world.git("rev-parse", "HEAD", cwd=side)
    (world.path / ".git" / "refs" / "heads" / "main").write_text(f"{oid}\n")
    world.write("f.txt", "other\n")
    world.git("add", "g.txt")
    said = commit(world)
    assert "warning: 'f.txt' is staged as it was before" in said
    assert "from the side" in said


def test_what_is_set_back_on_purpose_is_not(world: World, tmp_path: Path) -> None:
    private = two(world, tmp_path)
    world.write("f.txt", "one\n")
    assert commit(world, GIT_INDEX_FILE=private) == ""
