"""What a long command does is seen at a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.paths import BIN
from tests.support.terminal import talk

CLEAR = "\x1b[K"


@pytest.fixture
def repo(world: World) -> World:
    world.write("f", "one\n")
    world.git("add", "f")
    world.git("commit", "-qm", "one")
    world.git("init", "-q", "--bare", str(world.path.parent / "elsewhere"))
    world.git("remote", "add", "elsewhere", str(world.path.parent / "elsewhere"))
    world.git("config", "gitcp.summarize", "cat")
    return world


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["doctor"], "checking"),
        (["log"], "reading commits"),
        (["stats"], "reading commits"),
        (["blame", "f"], "finding who wrote the lines"),
        (["fsck"], "checking"),
        (["du"], "measuring objects"),
        (["clean"], "looking for what is settled"),
        (["convert-store"], "moving checkpoints"),
        (["fetch", "elsewhere"], "asking for checkpoints"),
        (["push", "elsewhere"], "sending checkpoints"),
        (["recap", "--generate", "--since=2000-01-01"], "waiting for the model"),
    ],
)
@pytest.mark.parametrize(("delay", "is_seen"), [("0", True), ("600", False)])
def test_a_command_says_what_it_does_from_the_delay_of_git_on(
    repo: World, command: list[str], line: str, delay: str, is_seen: bool
) -> None:
    repo.env["GIT_PROGRESS_DELAY"] = delay
    repo.env["GIT_PAGER"] = "cat"
    seen = talk(repo, command)
    assert (f"\r{line}" in seen) is is_seen
    assert seen.rpartition(line)[2].count(CLEAR) == (2 if is_seen else 0), seen


def test_it_is_seen_while_git_works_and_ctrl_c_ends_both(repo: World, tmp_path: Path) -> None:
    git, folder = shutil.which("git"), tmp_path / "slow"
    folder.mkdir()
    os.mkfifo(folder / "never")
    slow = f'#!/bin/sh\ncase " $* " in *" blame "*) exec cat {folder}/never ;; esac\n'
    (folder / "git").write_text(f'{slow}exec {git} "$@"\n')
    (folder / "git").chmod(0o755)
    repo.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    repo.env["GIT_PROGRESS_DELAY"] = "1"
    seen = talk(repo, ["blame", "f"], ("finding who wrote the lines", "\x03"))
    assert seen.endswith(f"\r{CLEAR}") and "Traceback" not in seen


def test_without_a_terminal_there_is_no_progress(repo: World) -> None:
    env = {**os.environ, **repo.env, "GIT_PROGRESS_DELAY": "0"}
    words = [sys.executable, str(BIN / "gitcp-doctor")]
    done = subprocess.run(words, cwd=repo.path, env=env, capture_output=True)
    assert b"checking" not in done.stderr
