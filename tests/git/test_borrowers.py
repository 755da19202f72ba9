"""Repositories that borrow objects, as `git clone --shared` makes them, and are then made
independent as git-clone(1) says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.git.gitdir import packs
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.snapshot.own_index import sweep_leftovers
from tests.support.checkpoints import git
from tests.support.harness import Agent, World
from tests.support.scenes import Scenes

REPACKS = [["-a"], ["-a", "-d"], ["-A", "-d"], ["-a", "-d", "-f"]]


def work(agent: Agent) -> None:
    """Turns, commits, and work that is open."""
    for number in range(3):
        agent.turn("write", {f"{number}.py": f"{agent.sid} {number}\n", "both.py": f"{number}\n"})
        agent.world.commit(f"{number}.py")
    agent.turn("write", {"open.py": f"{agent.sid}\n"})


def record_work(world: World) -> World:
    """A repository in which an agent worked, and a shared clone of it with gitcp enabled."""
    work(world.agent("session-a", tools=True))
    clone = World(world.path.parent / "clone", world.home, world.env)
    git("clone", "-q", "--shared", str(world.path), str(clone.path))
    clone.gitcp("enable")
    return world


@pytest.fixture
def world(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(record_work, monkeypatch)


@pytest.fixture
def borrower(world: World) -> Iterator[World]:
    """The clone."""
    clone = World(world.path.parent / "clone", world.home)
    yield clone
    clone.close()


def kept_packs(world: World) -> list[Path]:
    return list((world.path / ".git/objects/pack").glob("*.keep"))


def independent(clone: Path) -> None:
    """Every object is there without the lender's."""
    (clone / ".git/objects/info/alternates").unlink(missing_ok=True)
    git("fsck", "--strict", "--no-dangling", cwd=clone)
    git("log", "--all", "--stat", cwd=clone)


@pytest.mark.parametrize("repack", REPACKS)
def test_a_shared_clone_in_which_an_agent_worked_can_be_made_independent(
    borrower: World, repack: list[str]
) -> None:
    agent = borrower.agent("session-b", tools=True)
    work(agent)
    agent.prompt("make it independent")
    agent.write("more.py", "more\n")
    git("repack", "-q", *repack, cwd=borrower.path)
    independent(borrower.path)
    agent.stop()
    assert borrower.tree(borrower.branch())["more.py"] == "more\n"
    borrower.commit("more.py")
    independent(borrower.path)
    assert kept_packs(borrower), "from now on it is kept from every prune"


def test_a_clone_that_dissociates_from_its_reference_has_all_objects(
    world: World, tmp_path: Path
) -> None:
    lender, clone = str(world.path), tmp_path / "clone"
    git("clone", "-q", "--reference", lender, "--dissociate", f"file://{lender}", str(clone))
    independent(clone)


def test_gc_in_the_lender_takes_nothing_that_a_borrower_needs(
    world: World, borrower: World
) -> None:
    work(borrower.agent("session-b", tools=True))
    git("gc", "-q", "--prune=now", cwd=world.path)
    git("fsck", "--strict", "--no-dangling", cwd=borrower.path)


def test_gc_in_a_borrower_takes_nothing_that_a_turn_has_written(borrower: World) -> None:
    agent = borrower.agent("session-b", tools=True)
    agent.prompt("write")
    agent.write("a.py", "once\n")
    agent.write("a.py", "twice\n")
    git("gc", "-q", cwd=borrower.path)
    agent.stop()
    [one] = borrower.commit("a.py")
    assert borrower.committed(one)["session-b"]["files_touched"] == ["a.py"]
    assert borrower.gitcp("check-store") == ""


def test_packs_of_a_borrower_are_few(borrower: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(borrower.path)
    with Objects(Repo.find()) as objects:
        for number in range(4 * packs.MOST):
            oid = objects.write("blob", f"{number}".encode())
            objects.packs.flush()
        assert objects.packs.has(oid)
    assert len(list(Path(".git/objects/pack").glob("*.pack"))) <= packs.MOST + 2
    git("fsck", "--strict", "--no-dangling")


def test_packs_are_kept_no_more_once_a_repository_borrows(world: World, tmp_path: Path) -> None:
    assert kept_packs(world)
    git("init", "-q", str(tmp_path / "lender"))
    alternates = world.path / ".git/objects/info/alternates"
    alternates.write_text(f"{tmp_path}/lender/.git/objects\n")
    sweep_leftovers(Repo.find(str(world.path)))
    assert not kept_packs(world)
    before = len(list((world.path / ".git/objects/pack").glob("*.pack")))
    world.agent("session-b").turn("write", {"b.py": "b\n"})
    assert not kept_packs(world) and before


def test_what_a_worktree_of_the_repository_repacks_stays_whole(
    world: World, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", str(tmp_path / "second"), cwd=world.path)
    agent = world.agent("session-b", tmp_path / "second", tools=True)
    agent.turn("write", {"b.py": "b\n"})
    git("repack", "-q", "-a", "-d", cwd=tmp_path / "second")
    git("gc", "-q", "--prune=now", cwd=tmp_path / "second")
    independent(world.path)
