"""Hooks of the person's are for what the person does: no git of gitcp's own runs one, be it a
file or configured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import gits
from tests.support.harness import World
from tests.support.installed import write
from tests.support.warm import run

EVENTS = (
    *("reference-transaction", "post-index-change", "post-checkout", "pre-push", "pre-auto-gc"),
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite"),
)


@pytest.fixture(params=["configured", "files"])
def told(
    request: pytest.FixtureRequest, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The file to which a hook of each event writes, with what it is given."""
    log = tmp_path / "told"
    script = tmp_path / "theirs" / "tell"
    write(script, f"#!/bin/sh\n{{ echo \"$0 $*\"; [ -t 0 ] || cat; }} >>'{log}'\n")
    if request.param == "configured":
        monkeypatch.setenv("PATH", gits.find_newer())
        subprocess.run(["git", "config", "hook.theirs.command", str(script)], check=True)
        for event in EVENTS:
            subprocess.run(["git", "config", "--add", "hook.theirs.event", event], check=True)
    else:
        for event in EVENTS:
            write(repo / ".git" / "hooks" / event, script.read_text())
    return log


def take(log: Path) -> str:
    text = log.read_text() if log.exists() else ""
    log.unlink(missing_ok=True)
    return text


def gitcp(world: World, name: str, *args: str) -> None:
    done = run(name, *args, cwd=world.path)
    assert done.returncode == 0, done


@pytest.mark.thorough
def test_no_git_of_gitcps_runs_a_hook_of_the_persons(repo: Path, told: Path) -> None:
    world = World(repo, repo.parent / "home")
    gitcp(world, "enable")
    bare = world.share()
    take(told)
    agent = world.agent("s1", tools=True)
    agent.turn("write", {"a.txt": "one\n", "b.txt": "two\n"})
    agent.turn("more", {"a.txt": "one\nmore\n"})
    gitcp(world, "rewind", "--session", "s1", "-f")
    gitcp(world, "undo")
    gitcp(world, "status")
    gitcp(world, "stage", "--session", "s1")
    gitcp(world, "undo")
    script = "git commit -q --allow-empty -m tried; ! grep -q more a.txt"
    gitcp(world, "bisect", "HEAD", "--", "sh", "-c", script)
    assert take(told) == ""
    world.commit()
    ran = take(told)
    assert "refs/heads/main" in ran, "the person's own commit runs them"
    assert "refs/gitcp" not in ran and "entire/" not in ran
    gitcp(world, "push")
    assert "entire/checkpoints/v1" in world.git("for-each-ref", cwd=bare)
    gitcp(world, "fetch")
    gitcp(world, "forget", "--all", "-y")
    assert take(told) == ""
    world.close()
