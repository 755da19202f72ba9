"""A store whose branch was deleted: said, brought back by one command, and never begun anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.harness import V1, World
from tests.support.warm import run

MEMORY = "refs/gitcp/store"
BACK = f"'git branch entire/checkpoints/v1 {MEMORY}'"
AGREE = f"'git update-ref -d {MEMORY}'"


@pytest.fixture
def deleted(world: World) -> World:
    """A store with one checkpoint, whose branch a person deleted; its tip is in `before`."""
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    world.git("tag", "before", V1)
    world.git("branch", "-q", "-D", "entire/checkpoints/v1")
    return world


def ids(world: World, ref: str) -> set[str]:
    return set(world.git("ls-tree", "-d", "-r", "--name-only", ref).split())


def test_the_next_prompt_status_and_doctor_say_how_it_comes_back(deleted: World) -> None:
    agent = deleted.agent("s-two")
    agent.start()
    for said in (
        agent.event("UserPromptSubmit", prompt="go on").said,
        deleted.gitcp("status"),
        run("doctor", cwd=deleted.path).stdout,
    ):
        assert "'entire/checkpoints/v1'" in said and BACK in said and AGREE in said, said
    deleted.git(*BACK.strip("'").split()[1:])
    assert deleted.git("rev-parse", V1) == deleted.git("rev-parse", "before")
    assert "deleted" not in deleted.gitcp("status")
    assert "write one" in deleted.gitcp("show", "HEAD")


def test_the_next_commit_goes_on_with_the_history_that_was_there(deleted: World) -> None:
    deleted.agent("s-two").turn("write two", {"two.py": "two\n"})
    deleted.commit("two.py")
    assert ids(deleted, V1) > ids(deleted, "before")
    assert deleted.git("merge-base", "before", V1) == deleted.git("rev-parse", "before")
    assert "write one" in deleted.gitcp("show", "HEAD~1")


def test_who_agrees_to_the_deletion_begins_anew_and_hears_nothing(deleted: World) -> None:
    deleted.git(*AGREE.strip("'").split()[1:])
    assert "deleted" not in deleted.gitcp("status")
    deleted.agent("s-two").turn("write two", {"two.py": "two\n"})
    deleted.commit("two.py")
    assert not ids(deleted, V1) & ids(deleted, "before") - {"0"}


def test_what_was_forgotten_does_not_come_back_with_it(world: World) -> None:
    world.git("config", "core.logAllRefUpdates", "always")
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    old = world.git("rev-parse", V1)
    world.agent("s-one").end()
    world.gitcp("forget", "--yes", "s-one")
    assert world.git("rev-parse", MEMORY) == world.git("rev-parse", V1) != old
    world.git("branch", "-q", "-D", "entire/checkpoints/v1")
    world.git(*BACK.strip("'").split()[1:])
    world.git("reflog", "expire", "--expire=now", "refs/heads/main")
    world.git("gc", "-q", "--prune=now")
    assert old not in world.git("rev-list", "--all", "--reflog")


def test_after_convert_store_the_branch_may_go(world: World) -> None:
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    world.gitcp("convert-store")
    world.git("branch", "-q", "-D", "entire/checkpoints/v1")
    assert "deleted" not in world.gitcp("status")
    assert "write one" in world.gitcp("show", "HEAD")


def test_it_is_remembered_where_git_moved_the_branch(world: World) -> None:
    agent = world.agent("s-one")
    agent.turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    moved = world.git("commit-tree", "-p", V1, "-m", "by git", f"{V1}^{{tree}}")
    world.git("update-ref", V1, moved)
    agent.event("UserPromptSubmit", prompt="go on")
    assert world.git("rev-parse", MEMORY) == moved


def test_a_fetch_unites_what_was_there_with_what_is_fetched(world: World, tmp_path: Path) -> None:
    bare = world.share()
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    world.gitcp("push")
    world.agent("s-two").turn("write two", {"two.py": "two\n"})
    world.commit("two.py")
    every = ids(world, V1)
    world.git("branch", "-q", "-D", "entire/checkpoints/v1")
    world.gitcp("fetch")
    assert ids(world, V1) == every > ids_there(world, bare)


def ids_there(world: World, bare: Path) -> set[str]:
    return set(world.git("ls-tree", "-d", "-r", "--name-only", V1, cwd=bare).split())


def test_what_is_forgotten_while_it_is_deleted_is_forgotten(deleted: World) -> None:
    deleted.agent("s-one").end()
    assert "1 checkpoint part" in deleted.gitcp("forget", "--yes", "s-one")
    assert "write one" not in deleted.gitcp("log") and "deleted" not in deleted.gitcp("status")


def test_convert_store_converts_what_was_deleted(deleted: World) -> None:
    assert deleted.gitcp("convert-store")
    assert "write one" in deleted.gitcp("show", "HEAD")
