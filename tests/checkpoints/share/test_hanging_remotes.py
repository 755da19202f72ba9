"""A remote that does not answer: what it costs the first push, and the next ones."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.harness import V1, World
from tests.support.paths import BIN


@pytest.fixture
def hanging(world: World) -> World:
    """A repository with something to send, whose destination hangs while a file is there; a push
    has a second while it hangs, and all its time when it answers."""
    agent = world.agent("s-one")
    agent.turn("write", {"one.py": "one\n"})
    world.commit("one.py")
    bare = world.remote("origin")
    ssh = world.home / "ssh"
    ssh.write_text(
        f"#!/bin/sh\necho . >>{world.home}/asked\n"
        f"[ ! -e {world.home}/hangs ] || exec sleep 60\n"
        f"[ ! -e {world.home}/fails ] || exit 1\n"
        f'shift $(($# - 1))\nexec sh -c "$1"\n'
    )
    ssh.chmod(0o755)
    world.git("config", "core.sshCommand", str(ssh))
    world.git("config", "ssh.variant", "simple")
    world.git("remote", "add", "slow", f"nowhere.example:{bare}")
    world.git("config", "gitcp.place", f"nowhere.example:{bare}")
    hangs(world)
    return world


def hook(world: World) -> tuple[str, str]:
    """What the pre-push hook says of a push there, and the seconds that it waited in vain."""
    trace = world.home / "trace"
    done = subprocess.run(
        [".git/hooks/pre-push", "slow", world.git("remote", "get-url", "slow")],
        cwd=world.path,
        input=f"refs/heads/main {world.head} refs/heads/main {'0' * 40}\n",
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **world.env, "GITCP_TRACE": str(trace)},
    )
    assert done.returncode == 0
    waited = re.findall("did not answer in (.*) seconds", trace.read_text())
    trace.unlink()
    return done.stderr, "".join(waited)


def asked(world: World) -> int:
    path = world.home / "asked"
    return len(path.read_text().splitlines()) if path.exists() else 0


def hangs(world: World, seconds: int = 1) -> None:
    (world.home / "hangs").touch()
    world.git("config", "gitcp.push-timeout", str(seconds))


def answers(world: World) -> None:
    (world.home / "hangs").unlink()
    world.git("config", "--unset", "gitcp.push-timeout")


@pytest.mark.usefixtures("older_git")
@pytest.mark.thorough
def test_a_hanging_remote_is_said_once_and_the_next_pushes_wait_less_than_two_seconds(
    hanging: World,
) -> None:
    hangs(hanging, seconds=2)
    said, waited = hook(hanging)
    assert "'slow' did not answer in 2 seconds" in said and "'gitcp push'" in said
    assert waited == "2"
    for _ in range(2):
        said, waited = hook(hanging)
        assert said == "" and float(waited) < 2
    assert asked(hanging) == 3


@pytest.mark.usefixtures("older_git")
@pytest.mark.thorough
def test_once_a_push_succeeds_a_remote_has_all_its_time_again(hanging: World) -> None:
    hook(hanging)
    answers(hanging)
    assert hook(hanging)[0] == ""
    assert hanging.git("ls-remote", "slow", V1)
    hanging.agent("s-two").turn("write", {"two.py": "two\n"})
    hanging.commit("two.py")
    hangs(hanging)
    assert "did not answer in 1 seconds" in hook(hanging)[0]


@pytest.mark.usefixtures("older_git")
@pytest.mark.thorough
def test_after_a_day_a_remote_has_all_its_time_again(hanging: World) -> None:
    hook(hanging)
    [failure] = (hanging.path / ".git/gitcp/pushed").glob("*.failed")
    yesterday = time.time() - 86400 - 60
    os.utime(failure, (yesterday, yesterday))
    assert "did not answer in 1 seconds" in hook(hanging)[0]
    assert hook(hanging)[0] == ""


@pytest.mark.usefixtures("older_git")
def test_a_push_by_hand_has_all_its_time_and_ends_the_silence(hanging: World) -> None:
    hook(hanging)
    answers(hanging)
    hanging.gitcp("push")
    assert not list((hanging.path / ".git/gitcp/pushed").glob("*.failed"))


@pytest.mark.usefixtures("older_git")
@pytest.mark.thorough
def test_another_destination_has_all_its_time(hanging: World) -> None:
    hook(hanging)
    hanging.git("remote", "add", "slower", "elsewhere.example:repo.git")
    hanging.git("config", "--add", "gitcp.place", "elsewhere.example:repo.git")
    done = subprocess.run(
        [".git/hooks/pre-push", "slower", "elsewhere.example:repo.git"],
        cwd=hanging.path,
        input="",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "'slower' did not answer in 1 seconds" in done.stderr


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("damage", ["directory", "unreadable"])
def test_a_damaged_memory_of_failures_stops_no_push(hanging: World, damage: str) -> None:
    hook(hanging)
    answers(hanging)
    [failure] = (hanging.path / ".git/gitcp/pushed").glob("*.failed")
    failure.unlink()
    if damage == "directory":
        failure.mkdir()
    else:
        failure.touch(0o000)
    hook(hanging)
    assert hanging.git("ls-remote", "slow", V1)


def test_a_search_that_takes_too_long_is_not_begun_anew_by_each_push(
    world: World, tmp_path: Path
) -> None:
    bare = world.share()
    agent = world.agent("s-one")
    agent.turn("write", {"one.py": "one\n"})
    world.commit("one.py")
    world.git("config", "gitcp.push-timeout", "0")
    said = [_pushed(world), _pushed(world)]
    assert "too much to search" in said[0] and said[1] == ""
    assert not world.git("for-each-ref", V1, cwd=bare)


def _pushed(world: World) -> str:
    done = subprocess.run(
        ["git", "push", "-q", "origin", "main"], cwd=world.path, capture_output=True, text=True
    )
    assert done.returncode == 0
    return done.stderr


def shown(world: World, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **world.env}
    command = [str(BIN / f"gitcp-{args[0]}"), *args[1:]]
    return subprocess.run(command, cwd=world.path, env=env, capture_output=True, text=True)


@pytest.mark.thorough
def test_a_command_that_needs_the_remote_waits_five_seconds(hanging: World) -> None:
    hanging.git("branch", "-q", "-D", "entire/checkpoints/v1")
    assert "'slow' did not answer in 5 seconds" in shown(hanging, "show", "HEAD").stderr


@pytest.mark.parametrize("command", ["show", "explain", "resume"])
def test_a_command_that_needs_the_remote_says_so_and_why_it_has_nothing(
    hanging: World, command: str
) -> None:
    hanging.git("branch", "-q", "-D", "entire/checkpoints/v1")
    (hanging.home / "fails").touch()
    answers(hanging)
    done = shown(hanging, command, "HEAD")
    assert "fetching checkpoints from 'slow'" in done.stderr
    assert "'slow': Could not read from remote repository" in done.stderr


@pytest.mark.parametrize("command", ["show", "explain", "resume"])
def test_offline_no_remote_is_asked(hanging: World, command: str) -> None:
    hanging.git("branch", "-q", "-D", "entire/checkpoints/v1")
    done = shown(hanging, command, "--offline", "HEAD")
    assert "fetching" not in done.stderr and not (hanging.home / "asked").exists()


def test_what_a_partial_clone_left_out_is_fetched_for_one_checkpoint(
    hanging: World, tmp_path: Path
) -> None:
    answers(hanging)
    hanging.gitcp("push")
    bare = Path(hanging.git("config", "remote.origin.url"))
    hanging.git("config", "uploadpack.allowFilter", "true", cwd=bare)
    hanging.git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=bare)
    at = tmp_path / "partial"
    source = f"file://{bare}"
    hanging.git("clone", "-q", "--filter=blob:none", "--no-checkout", source, str(at))
    there = World(at, hanging.home, hanging.env)
    there.git("branch", "-q", "entire/checkpoints/v1", "origin/entire/checkpoints/v1")
    silent = shown(there, "show", "--offline", "HEAD")
    assert "fetching" not in silent.stderr and "done" not in silent.stdout
    done = shown(there, "show", "HEAD")
    assert "fetching transcripts from 'origin'" in done.stderr and "done" in done.stdout
    assert "fetching" not in shown(there, "show", "HEAD").stderr
