"""The work of a worktree that its client, or the person, has removed: it is listed, and comes
back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.record.journal.lines import text
from tests.steps.rewind.going import done
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World


@pytest.fixture
def there(world: World) -> Path:
    path = world.path / ".claude" / "worktrees" / "there"
    world.git("worktree", "add", "-q", "-b", "topic", str(path))
    return path


@pytest.fixture
def a(world: World, there: Path) -> Agent:
    """A session whose home is the worktree that will be removed."""
    agent = world.agent("session-a", cwd=there)
    agent.start()
    return agent


def remove(world: World, there: Path) -> None:
    world.git("worktree", "remove", "--force", str(there))


def abandoned(world: World) -> list[dict[str, Any]]:
    out = done(world, "log", "--abandoned", "--json")
    return [json.loads(line) for line in out.splitlines()]


def points(world: World) -> list[dict[str, Any]]:
    out = done(world, "rewind", "--list", "--all", "--json")
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("ended", [True, False], ids=["after the turn", "in the turn"])
def test_its_work_is_listed_as_given_up_and_comes_back_by_the_command_shown(
    world: World, there: Path, a: Agent, ended: bool
) -> None:
    a.prompt("generate it")
    edit(a, "tool.txt", text(1, 2))
    run(a, "printf 'one line of it\\n' >made.txt")
    if ended:
        a.stop()
    remove(world, there)
    (record,) = abandoned(world)
    assert (record["prompt"], record["how"]) == ("generate it", "discarded")
    assert record["worktree"] == str(there)
    assert sorted(record["files"]) == ["made.txt", "tool.txt"]
    command, name, *argv = shlex.split(record["restore"])
    assert command == "gitcp"
    done(world, name, *argv)
    assert (world.read("tool.txt"), world.read("made.txt")) == (text(1, 2), "one line of it\n")
    assert abandoned(world) == []


@pytest.mark.parametrize("ended", [True, False], ids=["after the turn", "in the turn"])
def test_its_points_are_listed_and_can_be_gone_to(
    world: World, there: Path, a: Agent, ended: bool
) -> None:
    a.prompt("generate it")
    run(a, "printf 'one line of it\\n' >made.txt")
    run(a, "printf 'another line\\n' >made.txt")
    if ended:
        a.stop()
    remove(world, there)
    own = [point for point in points(world) if point["worktree"] == str(there)]
    kinds = {"prompt": 1, "tool": 2} | ({"temporary": 1} if ended else {})
    assert {kind: sum(p["kind"] == kind for p in own) for kind in kinds} == kinds
    assert all(f"(in {there}, which was removed)" in point["message"] for point in own)
    [second, _] = [point["id"] for point in own if point["kind"] == "tool"]
    done(world, "rewind", "--to", second, "--files-only")
    assert world.read("made.txt") == "one line of it\n"
    done(world, "undo")
    assert not (world.path / "made.txt").exists()
    if ended:
        [checkpoint] = [point["id"] for point in own if point["kind"] == "temporary"]
        done(world, "rewind", "--to", checkpoint, "--files-only")
        assert world.read("made.txt") == "another line\n"


def test_the_work_of_a_session_that_visited_it_comes_back_beside_that_of_its_home(
    world: World, there: Path
) -> None:
    b = world.agent("session-b")
    b.start()
    b.prompt("work in both")
    edit(b, "here.txt", text(3))
    run(b, f"cd {there} && printf 'one line of it\\n' >made.txt")
    remove(world, there)
    b.stop()
    (record,) = abandoned(world)
    assert list(record["files"]) == ["made.txt"]
    _, name, *argv = shlex.split(record["restore"])
    done(world, name, *argv)
    assert (world.read("made.txt"), world.read("here.txt")) == ("one line of it\n", text(3))


def test_what_was_committed_there_is_not_given_up(world: World, there: Path, a: Agent) -> None:
    a.prompt("generate it")
    run(a, "printf 'one line of it\\n' >made.txt")
    a.stop()
    world.commit(cwd=there)
    remove(world, there)
    assert abandoned(world) == []


def test_its_work_comes_back_as_a_patch_where_the_file_has_changed(
    world: World, there: Path, a: Agent
) -> None:
    world.write("f.txt", "one\ntwo\nthree\nfour\nfive\n")
    world.commit("f.txt")
    world.git("reset", "-q", "--hard", "main", cwd=there)
    a.prompt("add a line")
    edit(a, "f.txt", "one\ntwo\nthree\nfour\nfive\nsix\n")
    a.stop()
    remove(world, there)
    world.write("f.txt", "zero\none\ntwo\nthree\nfour\nfive\n")
    world.commit("f.txt")
    (record,) = abandoned(world)
    assert " | git apply --3way" in record["restore"]
    first = record["restore"].partition(" | ")[0]
    _, name, *argv = shlex.split(first)
    patch = world.path.parent / "patch"
    patch.write_text(done(world, name, *argv))
    world.git("apply", "--3way", str(patch))
    assert world.read("f.txt") == "zero\none\ntwo\nthree\nfour\nfive\nsix\n"
