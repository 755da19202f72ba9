"""A stream that lacks objects is built again or set aside, and git can work again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.broken import Store
from tests.support.checkpoints import git
from tests.support.harness import World

STATE = ".entire/metadata/s-one/state.json"


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    """Three checkpoints on a stream: src/new.py and top.txt, both changed; one in an archive."""
    world = World(Path(shutil.copytree(ground, tmp_path / "repo")), tmp_path / "home")
    agent = world.agent("s-one")
    agent.turn("dismissed", {"away.txt": "away\n"})
    world.git("stash", "-u")
    for number in range(3):
        files = {"src/new.py": f"new = {number}\n", "top.txt": f"top {number}\n"}
        agent.turn(f"turn {number}", files)
    yield world
    world.close()


def damaged(world: World, *specs: str) -> list[str]:
    """Take objects away, repair, and see git at peace with what is there; the repairs."""
    store = Store(world.path)
    for spec in specs:
        store.forget(spec)
    for path in ("src/new.py", "top.txt", "src/app.py"):
        (world.path / path).write_text("by hand, meanwhile\n")
    done = [f["repaired"] for f in store.check(fix=True) if f.get("repaired")]
    assert [f for f in store.check() if f["kind"] == "broken-stream"] == []
    git("fsck", "--no-dangling", cwd=world.path)
    git("gc", "-q", "--prune=now", cwd=world.path)
    return done


def omitted(world: World, ref: str) -> list[str]:
    name = f"{ref}:.entire/metadata/s-one/omitted.json"
    return [one["path"] for one in json.loads(world.git("show", name))]


def test_a_file_that_is_lost_takes_nothing_with_it(world: World) -> None:
    branch = world.branch()
    done, edits = damaged(world, f"{branch}:src/new.py")
    assert done.endswith("lost: src/new.py")
    assert (
        edits == "kept what 4 prompts wrote; 1 of their contents are lost, and cannot be put back"
    )
    assert world.show(branch, "top.txt") == "top 2\n"
    assert world.show(f"{branch}~1", "src/new.py") == "new = 1\n"
    assert omitted(world, branch) == ["src/new.py"]
    assert len(world.trailer(branch, "Gitcp-Stream")) == 3


def test_a_folder_that_is_lost_is_made_of_the_base_and_what_the_states_record(
    world: World,
) -> None:
    branch = world.branch()
    damaged(world, f"{branch}:src")
    assert world.show(branch, "src/new.py") == "new = 2\n"
    assert world.show(branch, "src/app.py") == "print('app')\n"


def test_without_any_commit_the_states_are_enough(world: World) -> None:
    branch, log = world.branch(), world.git("rev-list", world.branch()).split()
    (world.path / ".git/logs/refs/heads" / branch).unlink()
    damaged(world, *log)
    assert world.tree(branch) == {"src/new.py": "new = 2\n", "top.txt": "top 2\n"}
    assert json.loads(world.git("show", f"{branch}:{STATE}"))["session_id"] == "s-one"


def test_where_a_tip_is_lost_the_checkpoint_before_it_counts(world: World) -> None:
    branch = world.branch()
    before = world.git("rev-parse", f"{branch}~1")
    damaged(world, branch)
    assert world.git("rev-parse", branch) == before


def test_an_archive_is_built_again_like_a_branch(world: World) -> None:
    [archive] = world.archives
    damaged(world, f"{archive}^{{tree}}")
    assert world.show(archive, "away.txt") == "away\n"


def test_a_stream_of_which_nothing_is_known_is_noted_and_let_go(world: World) -> None:
    [archive] = world.archives
    oid = world.git("rev-parse", archive)
    state = world.path / ".git/entire-sessions/s-one.json"
    content = json.loads(state.read_text())
    state.write_text(json.dumps({**content, "streams": content["streams"][-1:]}))
    damaged(world, archive)
    assert world.archives == []
    [note] = (world.path / ".git/gitcp/corrupt").iterdir()
    assert note.read_text() == f"{archive} {oid}\n"


def test_a_broken_branch_that_may_be_a_persons_goes_aside_with_its_commit(world: World) -> None:
    mine = world.git("commit-tree", "-m", "mine", "HEAD^{tree}")
    world.git("update-ref", "refs/heads/entire/1234567-e3b0c4", mine)
    store = Store(world.path)
    store.forget(mine)
    found = [f for f in store.check(fix=True) if f["subject"].endswith("1234567-e3b0c4")]
    assert [f["kind"] for f in found] == ["broken-stream"]
    place = str(found[0]["repaired"]).rpartition(" to ")[2].strip("'")
    assert Path(place).read_text().strip() == mine


@pytest.mark.parametrize("take", [lambda w: w.branch(), lambda w: f"{w.branch()}^{{tree}}"])
def test_a_session_goes_on_after_a_repair(world: World, take: Callable[[World], str]) -> None:
    branch = world.branch()
    damaged(world, take(world))
    world.agent("s-one").turn("go on", {"after.txt": "after\n"})
    assert world.show(branch, "after.txt") == "after\n"
    [checkpoint] = world.commit("src/new.py", "top.txt", "after.txt")
    assert "after.txt" in world.committed(checkpoint)["s-one"]["files"]
