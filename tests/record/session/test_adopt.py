"""What `gitcp adopt` moves here, and what stays where it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.harness import Agent, Json, World
from tests.support.linking import files, noted

MORE = "# a project\n\nsaid by the agent\n"


@pytest.fixture
def other(world: World) -> Path:
    """A second worktree."""
    path = world.path.parent / "other"
    world.git("worktree", "add", "-q", str(path))
    return path


def adopt(cwd: Path, *args: str) -> Json:
    done = warm.run("adopt", "--json", *args, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done
    record: Json = json.loads(done.stdout)
    return record


def commit(world: World, cwd: Path) -> list[str]:
    """The files of the session of a commit of everything there."""
    world.git("add", "-A", cwd=cwd)
    world.git("commit", "-q", "-m", "work", cwd=cwd)
    found = [world.committed(one) for one in world.ids("HEAD", cwd=cwd)]
    return sorted(path for one in found for path in one["session-a"]["files_touched"])


def test_a_turn_that_moved_to_another_worktree_goes_on_there(
    world: World, a: Agent, other: Path
) -> None:
    a.tools = True
    a.prompt("work")
    a.write("README.md", MORE)
    record = adopt(other, "session-a")
    assert (record["from"], record["worktree"]) == (str(world.path), str(other))
    assert record["left"] == [{"worktree": str(world.path), "files": ["README.md"]}]
    a.cwd = other
    a.write("src/there.py", "there = 1\n")
    a.stop()
    assert (a.state["worktree_id"], a.state["visits"]) == ("other", [""])
    assert len(world.streams) == 1, "its snapshots lie on this worktree's stream"
    assert commit(world, other) == ["src/there.py"]
    assert adopt(other, "session-a")["left"] == record["left"], "it is found as long as it lies"
    assert commit(world, world.path) == ["README.md"]
    assert adopt(other, "session-a")["left"] == []


def test_a_session_between_two_turns_has_its_next_commit_where_it_was_adopted(
    world: World, a: Agent, other: Path
) -> None:
    a.turn("work", {"README.md": MORE})
    adopt(other, "session")
    assert (a.state["phase"], a.state["worktree_id"]) == ("idle", "other")
    a.cwd = other
    assert a.prompt("go on").said == ""
    a.write("src/there.py", "there = 1\n")
    a.stop()
    assert commit(world, other) == ["src/there.py"]
    assert commit(world, world.path) == ["README.md"]
    assert adopt(world.path, "session-a")["left"] == []
    assert "worktree_id" not in a.state


def test_a_commit_without_hooks_that_head_left_is_linked_after_the_session_has_moved_here(
    world: World, a: Agent, other: Path
) -> None:
    here, there = world.path / ".git/logs/HEAD", world.path / ".git/worktrees/other/logs/HEAD"
    entry = f"{world.head} {world.head} T <t@t.invalid> 1 +0000\t"
    length = there.stat().st_size - here.stat().st_size + 200  # amid the next two moves there
    with here.open("a") as log:
        log.write(f"{entry:x<{length}}\n")
    a.tools = True
    a.prompt("work")
    adopt(other, "session-a")
    a.cwd = other
    a.write("README.md", MORE)
    world.git("switch", "-q", "-c", "topic", cwd=other)
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "by hand", cwd=other)
    world.git("switch", "-q", "--detach", "HEAD~", cwd=other)
    a.stop()
    [checkpoint] = noted(world, world.object("topic").oid)
    assert files(world, checkpoint) == ["README.md"]


@pytest.mark.parametrize("begun", [False, True], ids=["new here", "at work here already"])
def test_a_session_of_another_clone_goes_on_here_with_its_turns(
    world: World, a: Agent, tmp_path: Path, begun: bool
) -> None:
    clone = tmp_path / "clone"
    world.git("clone", "-q", str(world.path), str(clone))
    assert warm.run("enable", "--agent", "claude-code", cwd=clone).returncode == 0
    there = World(clone, world.home, world.env)
    a.turn("first", {"README.md": MORE})
    moved = Agent(there, a.sid, clone, a.pid)
    if begun:
        moved.turn("second", {"src/second.py": "second = 2\n"})
    record = adopt(clone, "session-a", str(world.path))
    assert record["left"] == [{"worktree": str(world.path), "files": ["README.md"]}]
    assert a.state["phase"] == "ended"
    moved.turn("third", {"src/third.py": "third = 3\n"})
    asked = ["first", *(["second"] if begun else []), "third"]
    turns = moved.state["turns"].values()
    assert [(one["number"], one["prompt"]) for one in turns] == list(enumerate(asked, 1))
    assert moved.state["first_prompt"] == "first"
    assert commit(there, clone) == [*(["src/second.py"] if begun else []), "src/third.py"]
    assert commit(world, world.path) == ["README.md"], "what it left there is still its own"
    there.close()


def test_a_session_that_nobody_knows_is_not_adopted(world: World, a: Agent, other: Path) -> None:
    done = warm.run("adopt", "session-x", cwd=other)
    assert done.returncode == 128
    assert "no such session: 'session-x'" in done.stderr
    assert "gitcp adopt session-x <directory>" in done.stderr
