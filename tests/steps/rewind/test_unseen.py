"""What nobody had seen before a call that throws work away: such a call is a point all the same,
and says what it lacks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.steps.rewind.going import done, plan, points, run
from tests.support.clients import calls

if TYPE_CHECKING:
    from tests.support.harness import Agent, World

TEXT = "line one\n"


@pytest.fixture
def silent_git(world: World, tmp_path: Path) -> None:
    """A git that never tells what a command may throw away."""
    folder = tmp_path / "silent"
    folder.mkdir()
    os.mkfifo(folder / "never")
    asked = "'diff-index --name-only'*|'ls-files --others --exclude-standard -z'"
    (folder / "git").write_text(
        f'#!/bin/sh\ncase "${{*#*fsmonitor=false }}" in\n'
        f'{asked}) exec cat {folder / "never"};;\nesac\nexec {shutil.which("git")} "$@"\n'
    )
    (folder / "git").chmod(0o755)
    world.env["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    world.git("config", "gitcp.look-budget", "0")


@pytest.fixture
def dirty(world: World, a: Agent) -> Agent:
    """In a's turn: two files that a wrote, and then edits of the person that no hook has seen."""
    for path in ("d/f.txt", "g.txt", "h.txt"):
        world.write(path, TEXT)
    world.commit()
    a.prompt("work")
    calls.edit(a, "g.txt", "by a\n")
    world.write("d/f.txt", f"{TEXT}by hand\n")
    return a


@pytest.mark.parametrize(
    ("command", "lacking"),
    [
        ("git checkout -q -- d", "d"),
        ("git reset -q --hard", "other files"),
        ("rm -r d && git checkout -q -- d h.txt", "d"),
    ],
)
def test_a_call_is_a_point_that_names_what_was_not_seen_before_it(
    world: World, silent_git: None, dirty: Agent, command: str, lacking: str
) -> None:
    calls.run(dirty, command)
    dirty.stop()
    (point,) = [p for p in points(world) if p["kind"] == "tool" and p["incomplete"]]
    assert f"not seen before it: {lacking}" in done(world, "rewind", "--list")
    assert f"not seen before it: {lacking}" in done(world, "show", point["id"])
    told = done(world, "rewind", "--to", point["id"], "--into", str(world.home / "there"))
    assert f"note: not seen before it: {lacking}" in told
    world.write("g.txt", "later\n")
    told = done(world, "rewind", "--files-only", "--force", "--to", point["id"])
    assert f"note: not seen before it: {lacking}" in told
    assert (world.read("g.txt"), world.read("d/f.txt")) == ("by a\n", TEXT)
    told = done(world, "rewind", "--tool", point["id"])
    assert f"note: not seen before it: {lacking}" in told


def test_what_is_known_comes_back_without_force(
    world: World, silent_git: None, dirty: Agent
) -> None:
    calls.run(dirty, "git reset -q --hard")
    point = next(p for p in points(world) if p["incomplete"])
    assert plan(world, "--to", point["id"]) == {"g.txt": ("modify", "changed since")}
    run(world, "rewind", "--files-only", "--to", point["id"])
    assert world.read("g.txt") == "by a\n"
    after = next(p for p in points(world) if p["id"] == point["id"])
    assert after["lacking"][0] == "."
    assert "not seen" not in done(world, "rewind", "--dry-run", "--to", point["id"] + ":after")


@pytest.mark.parametrize("command", ["git clean -fdq", "rm -f 'of the\nperson'"])
def test_a_call_that_deletes_what_was_looked_at_before_it_is_a_point(
    world: World, a: Agent, command: str
) -> None:
    world.write("of the\nperson", TEXT)
    a.prompt("tidy up")
    world.git("config", "gitcp.look-budget", "0")
    calls.run(a, command)
    a.stop()
    (point,) = [p for p in points(world) if p["kind"] == "tool"]
    done(world, "rewind", "--files-only", "--to", point["id"])
    assert world.read("of the\nperson") == TEXT


def test_what_git_ignores_is_not_kept_where_a_command_names_it(world: World, a: Agent) -> None:
    world.write(".gitignore", ".env\n")
    world.commit()
    world.git("config", "gitcp.look-budget", "0")
    a.prompt("tidy up")
    world.write(".env", "TOKEN=of the person\n")
    name = world.git("hash-object", ".env").strip()
    calls.run(a, "rm .env")
    a.stop()
    ended = subprocess.run(["git", "cat-file", "-e", name], cwd=world.path, capture_output=True)
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("command", "budget", "lacking"),
    [
        ("rm d/f.txt h.txt none.txt", 0, ["d/f.txt", "h.txt"]),
        ("rm d/f.txt h.txt none.txt", 60_000, []),
        ("rm -r many", 0, ["many"]),
        ("rm -r many", 60_000, []),
    ],
)
def test_the_first_look_ends_with_its_budget_and_names_what_is_left(
    world: World, dirty: Agent, command: str, budget: int, lacking: list[str]
) -> None:
    world.git("config", "gitcp.look-budget", "0")
    for number in range(30):
        world.write(f"many/{number}.txt", TEXT)
    calls.edit(dirty, "g.txt", "again by a\n")
    world.git("config", "gitcp.loss-budget", str(budget))
    calls.begin(dirty, "Bash", command=command)
    opened = [line for line in map(json.loads, journal(world)) if "open" in line][-1]
    assert opened.get("unseen", []) == lacking


def journal(world: World) -> list[str]:
    return (world.path / ".git/gitcp/journal").read_text().splitlines()
