"""gitcp-stage and gitcp-split, killed: everything is as before, or done by the next command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.steps.rewind.going import done, run
from tests.steps.stage.test_split import everything, hook, subjects
from tests.steps.stage.test_stage import both
from tests.support.harness import Agent, World
from tests.support.paths import BIN

pytestmark = pytest.mark.thorough

# The kinds of findings of what a killed command left.
LEFT = {"unfinished", "killed-command"}
KILL = "kill -9 $(cat '{pid}')"


def killed(world: World, *args: str) -> None:
    """Run a command as a process of its own, which a hook kills."""
    pid = world.path.parent / "pid"
    code = f"echo $$ >'{pid}' && exec \"$@\""
    program = [sys.executable, str(BIN / f"gitcp-{args[0]}"), *args[1:]]
    env = {**os.environ, **world.env, "GIT_EDITOR": "true"}
    ended = subprocess.run(
        ["sh", "-c", code, "sh", *program], cwd=world.path, env=env, capture_output=True
    )
    assert ended.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), ended


def kill_at(world: World, name: str, script: str) -> None:
    pid = world.path.parent / "pid"
    hook(world, name, script.replace("KILL", KILL.format(pid=pid)))


def unhook(world: World, name: str) -> None:
    for path in (world.path / ".git" / "hooks").glob(f"{name}*"):
        if "kill -9" in path.read_text():
            path.unlink()


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_a_kill_while_commits_are_made_leaves_all_as_it_was(
    world: World, a: Agent, b: Agent, name: str
) -> None:
    both(world, a, b)
    before = everything(world)
    second = "git log -1 --format=%s | grep -q Two || exit 0"
    kill_at(world, name, f"{second}; KILL")
    killed(world, "split")
    assert everything(world) == before
    assert world.checkpoints() == []
    unhook(world, name)
    done(world, "split", "--no-edit")
    assert subjects(world, "HEAD~2..") == ["Two", "Three"]
    left = world.path / ".git" / "gitcp" / "split"
    assert [*left.iterdir()] == []


@pytest.mark.parametrize("state", ["prepared", "committed"])
def test_a_kill_while_head_moves_is_finished_by_the_next_command(
    world: World, a: Agent, b: Agent, state: str
) -> None:
    both(world, a, b)
    before = everything(world)
    at = f'test "$1" != {state} || ! grep -q refs/heads/main'
    kill_at(world, "reference-transaction", f"{at} || {{ KILL; exit 1; }}")
    killed(world, "split")
    unhook(world, "reference-transaction")
    moved = world.git("log", "-1", "--format=%s") == "Three"
    assert moved == (state == "committed")
    done(world, "stage", "-n", "--by-hand")
    assert not (world.path / ".git" / "index.lock").exists()
    if not moved:
        assert everything(world) == before
        assert done(world, "undo", "--list").startswith("nothing to undo here: ")
        done(world, "split", "--no-edit")
    assert subjects(world, "HEAD~2..") == ["Two", "Three"]
    assert world.git("diff", "--cached") == ""
    for commit, agent in (("HEAD~1", a), ("HEAD", b)):
        (checkpoint,) = world.ids(commit)
        assert list(world.committed(checkpoint)) == [agent.sid]
    done(world, "undo")
    assert everything(world)[1] == before[1]


@pytest.mark.parametrize("state", ["prepared", "committed"])
def test_a_kill_while_an_undo_moves_head_is_finished_by_the_next_command(
    world: World, a: Agent, b: Agent, state: str
) -> None:
    both(world, a, b)
    before = everything(world)
    done(world, "split", "--no-edit")
    at = f'test "$1" != {state} || ! grep -q refs/heads/main'
    kill_at(world, "reference-transaction", f"{at} || {{ KILL; exit 1; }}")
    killed(world, "undo")
    unhook(world, "reference-transaction")
    subprocess.run([sys.executable, str(BIN / "gitcp-undo"), "--list"], cwd=world.path, check=True)
    assert everything(world)[:2] == before[:2]


def found(world: World, *args: str) -> dict[str, str]:
    """kind -> reason of what `gitcp doctor` finds of killed commands."""
    ended = run(world, "doctor", "--json", *args)
    items = map(json.loads, ended.stdout.splitlines())
    return {i["kind"]: i["reason"] for i in items if i["kind"] in LEFT}


def test_status_and_doctor_know_of_a_split_that_was_killed_as_head_had_moved(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    at = 'test "$1" != committed || ! grep -q refs/heads/main'
    kill_at(world, "reference-transaction", f"{at} || {{ KILL; exit 1; }}")
    killed(world, "split")
    unhook(world, "reference-transaction")
    assert "killed half way, and the index is locked: 'gitcp doctor --fix'" in done(world, "status")
    assert "unfinished" in found(world)
    assert done(world, "doctor", "--fix", "--json")
    assert not (world.path / ".git" / "index.lock").exists()
    assert world.git("diff", "--cached") == ""
    for commit, agent in (("HEAD~1", a), ("HEAD", b)):
        (checkpoint,) = world.ids(commit)
        assert list(world.committed(checkpoint)) == [agent.sid]
    assert (found(world), "killed" in done(world, "status")) == ({}, False)


def test_doctor_and_clean_remove_what_a_killed_split_left_and_not_of_one_that_runs(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    left = world.path / ".git" / "gitcp" / "split"
    kill_at(world, "pre-commit", "KILL")
    for mends in ("doctor --fix --json", "clean --force"):
        killed(world, "split")
        assert len([*left.iterdir()]) == 1
        assert "killed-command" in found(world)
        assert str(left) in done(world, "clean")
        done(world, *mends.split())
        assert [*left.iterdir()] == []
    unhook(world, "pre-commit")
    seen = world.path.parent / "seen"
    tidy = f"{BIN}/gitcp-clean --force && {BIN}/gitcp-doctor --json"
    hook(world, "pre-commit", f"({tidy}) >>{seen}; exit 0")
    done(world, "split", "--no-edit")
    assert subjects(world, "HEAD~2..") == ["Two", "Three"]
    assert seen.exists()
    assert LEFT.isdisjoint(word.strip('":,') for word in seen.read_text().split())


@pytest.mark.parametrize("command", ["stage --session 1111", "split"])
def test_a_kill_that_holds_the_lock_of_the_index_leaves_no_lock(
    world: World, a: Agent, b: Agent, command: str
) -> None:
    world.write(".gitattributes", "f.txt filter=kills\n")
    world.commit()
    both(world, a, b)
    before = everything(world)
    lock, pid = world.path / ".git" / "index.lock", world.path.parent / "pid"
    kills = KILL.format(pid=pid)
    world.git("config", "filter.kills.clean", f"cat; test ! -e '{lock}' || {kills}")
    killed(world, *command.split())
    world.git("config", "--unset", "filter.kills.clean")
    assert lock.exists()
    done(world, "stage", "-n", "--session", "1111")
    assert not lock.exists()
    assert everything(world) == before
    assert done(world, "undo", "--list").startswith("nothing to undo here: ")
    done(world, "stage", "--session", a.sid)
    assert "by the first" in world.git("diff", "--cached")
