"""A session at home in one worktree, what it writes into another, and commits there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.calls import edit
from tests.support.harness import Agent, World
from tests.support.linking import here, ids, sessions, sound, touched

A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"


@pytest.fixture(params=["beside", "inside"])
def there(world: World, request: pytest.FixtureRequest) -> Path:
    beside, inside = world.path.parent / "there", world.path / ".claude" / "worktrees" / "there"
    path = inside if request.param == "inside" else beside
    world.git("worktree", "add", "-q", "-b", "topic", str(path))
    return path


@pytest.mark.parametrize("tools", [True, False], ids=["tools told", "transcript only"])
@pytest.mark.parametrize("ended", [True, False], ids=["after the turn", "in the turn"])
def test_what_a_session_writes_into_another_worktree_by_path_is_linked_there(
    world: World, there: Path, tools: bool, ended: bool
) -> None:
    a = world.agent("session-a", tools=tools)
    a.prompt("write over there")
    a.write("a.py", A)
    a.write(str(there / "b.py"), B)
    if ended:
        a.stop()
    [one] = world.commit("b.py", cwd=there)
    assert touched(world, one, a.sid) == ["b.py"]
    told = sessions(world, one)[a.sid]["initial_attribution"]
    assert (told["agent_lines"], told["human_added"]) == (2, 0)
    if not ended:
        a.stop()
    (there / "b.py").write_text(B + "person = 1\n")
    assert world.commit("b.py", cwd=there) == []
    [two] = world.commit("a.py")
    assert touched(world, two, a.sid) == ["a.py"]
    sound(world)


def test_a_file_of_the_same_name_in_another_worktree_is_another(world: World, there: Path) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("write here", {"a.py": A})
    (there / "a.py").write_text("person = 1\n")
    assert world.commit("a.py", cwd=there) == []
    a.turn("write there", {str(there / "a.py"): B})
    [two] = world.commit("a.py", cwd=there)
    assert sessions(world, two)[a.sid]["files_touched"] == ["a.py"]
    [one] = world.commit("a.py")
    assert one != two
    sound(world)


def test_an_agents_commits_in_another_worktree_are_known_by_the_processes_above_them(
    world: World, there: Path
) -> None:
    (there / "before.py").write_text(B)
    a: Agent = world.agent("session-a", tools=True)
    here(a)
    a.prompt("commit over there")
    a.ran("git commit -m 'over there'")
    (there / "a.py").write_text(A)
    for path, wrote in (("a.py", ["a.py"]), ("before.py", [])):
        [one] = world.commit(path, cwd=there)
        assert touched(world, one, a.sid) == wrote
        assert ids(world, cwd=there) == [one]
    assert a.state["worktree_path"] == str(world.path)
    sound(world)


@pytest.mark.parametrize("how", ["by the stash", "by hand"])
def test_what_a_commit_leaves_of_work_that_came_from_another_worktree_is_the_next_ones(
    world: World, there: Path, how: str
) -> None:
    begin, rest = "a line by the agent\nand another of them\n", "the third line\nand the fourth\n"
    a = world.agent("session-a", tools=True)
    a.prompt("write there")
    edit(a, str(there / "README.md"), begin + rest)
    a.stop()
    world.git("stash", "push", "-q", cwd=there)
    if how == "by the stash":
        world.git("stash", "pop", "-q")
    world.write("README.md", begin)
    world.git("add", "README.md")
    world.write("README.md", begin + rest)
    world.git("commit", "-q", "-m", "a part of it")
    assert len(ids(world)) == 1
    assert a.state["visits"] == [""]
    [rest_id] = world.commit("README.md")
    assert list(sessions(world, rest_id)) == [a.sid]
    assert "visits" not in a.state
    assert world.open() == []
    sound(world)
