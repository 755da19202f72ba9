"""A new or an away file that several wrote: a session is held to its own change of it alone."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, Json, World
from tests.support.linking import sessions, sound, touched


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("session-a", tools=True)


@pytest.fixture
def b(world: World) -> Agent:
    return world.agent("session-b", tools=True)


def test_a_short_line_in_the_new_file_of_another_session_links_who_wrote_it(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("begin", {"new.py": "x = 1\n"})
    b.turn("add a line", {"new.py": "x = 1\ny = 2\n"})
    a.turn("change the first", {"new.py": "x = 3\ny = 2\n"})
    [one] = world.commit("new.py")
    assert sorted(sessions(world, one)) == [a.sid, b.sid]
    sound(world)


def test_a_short_line_in_a_new_file_that_the_person_goes_on_with_links(
    world: World, a: Agent
) -> None:
    world.write("new.py", "x = 1\n")
    a.turn("add a line", {"new.py": "x = 1\ny = 2\n"})
    world.write("new.py", "x = 3\ny = 2\n")
    [one] = world.commit("new.py")
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


def test_a_new_file_without_the_sessions_lines_is_the_persons(world: World, a: Agent) -> None:
    mine = "a line of the person\nanother line of the person\n"
    world.write("new.txt", mine)
    a.turn("add a line", {"new.txt": mine + "a line of the session\n"})
    world.write("new.txt", mine)
    assert world.commit("new.txt") == []
    sound(world)


def test_what_a_person_writes_again_that_stood_before_the_session_is_the_persons(
    world: World, a: Agent
) -> None:
    world.write("old.txt", "zero\n")
    world.commit("old.txt")
    mine = "zero\na line of the person\nanother line of the person\n"
    world.write("old.txt", mine)
    a.turn("add a line", {"old.txt": mine + "a line of the session\n"})
    world.git("checkout", "-q", "--", "old.txt")
    world.write("other.txt", "other\n")
    world.commit("other.txt")
    a.turn("look around")
    world.write("old.txt", mine)
    assert world.commit("old.txt") == []
    sound(world)


def test_a_new_file_that_is_as_the_session_left_it_links(world: World, a: Agent) -> None:
    world.write("new.txt", "a line of the person\na line to take away\n")
    a.turn("take a line away", {"new.txt": "a line of the person\n"})
    [one] = world.commit("new.txt")
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


@pytest.mark.parametrize("path", ["new.py", "src/app.py"])
def test_a_session_of_whose_lines_none_is_left_beside_anothers_is_not_linked(
    world: World, a: Agent, b: Agent, path: str
) -> None:
    before = world.read(path) if path != "new.py" else ""
    a.turn("write", {path: before + "a line of the one session\n"})
    b.turn("write it anew", {path: before + "another line, of the other session\n"})
    [one] = world.commit(path)
    assert list(sessions(world, one)) == [b.sid]
    sound(world)


@pytest.mark.parametrize("more", ["", "a line of the person\n"])
def test_a_moved_file_links_although_another_session_made_a_new_one_in_its_place(
    world: World, a: Agent, b: Agent, more: str
) -> None:
    mine = "print('app')\nimport the_first_module\nimport the_other_module\n"
    a.turn("add two lines", {"src/app.py": mine})
    world.git("mv", "src/app.py", "src/moved.py")
    world.write("src/moved.py", mine + more)
    b.turn("make a new one", {"src/app.py": "a file of its own\n"})
    [one] = world.commit()
    linked = sessions(world, one)
    assert {sid: part["files_touched"] for sid, part in linked.items()} == {
        a.sid: ["src/moved.py"],
        b.sid: ["src/app.py"],
    }
    sound(world)


@pytest.mark.parametrize("lines", ["a line\n", "the first line\nthe second line\n"])
def test_a_new_file_that_another_session_moves_and_extends_links_who_wrote_it(
    world: World, a: Agent, b: Agent, lines: str
) -> None:
    a.prompt("make a file")
    b.prompt("move it")
    a.write("new.txt", lines)
    tool: Json = {"tool_name": "Bash", "tool_input": {"command": "mv new.txt moved.txt"}}
    b.event("PreToolUse", **tool, tool_use_id="toolu_mv")
    (world.path / "new.txt").rename(world.path / "moved.txt")
    b.event("PostToolUse", **tool, tool_use_id="toolu_mv", tool_response={})
    b.write("moved.txt", "".join(f"line {n} of the other\n" for n in range(4)) + lines)
    a.stop()
    b.stop()
    [one] = world.commit()
    assert sorted(sessions(world, one)) == [a.sid, b.sid]
    sound(world)


def test_a_commit_of_the_persons_content_without_the_mode_of_the_session_is_the_persons(
    world: World, a: Agent
) -> None:
    tool: Json = {"tool_name": "Bash", "tool_input": {"command": "chmod +x README.md"}}
    a.prompt("make it executable")
    a.event("PreToolUse", **tool, tool_use_id="toolu_mode")
    (world.path / "README.md").chmod(0o755)
    a.event("PostToolUse", **tool, tool_use_id="toolu_mode", tool_response={})
    a.stop()
    world.write("README.md", "by the person\n")
    world.git("add", "README.md")
    world.git("update-index", "--chmod=-x", "README.md")
    world.git("commit", "-q", "-m", "content")
    assert world.ids("HEAD") == []
    [one] = world.commit("README.md")
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


def test_a_move_that_is_committed_before_the_lines_leaves_the_link_to_them(
    world: World, a: Agent
) -> None:
    before = "".join(f"line {n} that was there\n" for n in range(4))
    world.write("old.txt", before)
    world.commit("old.txt")
    a.turn("add a line", {"old.txt": before + "a line of the session\n"})
    world.git("mv", "old.txt", "moved.txt")
    world.git("commit", "-q", "-m", "move")
    assert world.ids("HEAD") == []
    [one] = world.commit("moved.txt")
    assert sessions(world, one)[a.sid]["files_touched"] == ["moved.txt"]
    sound(world)


def test_the_rest_of_an_undone_commit_links_beside_lines_of_others(
    world: World, a: Agent, b: Agent
) -> None:
    first, second = "the first line of the session\n", "the second line of the session\n"
    a.turn("add two lines", {"new.txt": first + second})
    [undone] = world.commit("new.txt")
    world.git("reset", "-q", "HEAD~")
    world.write("new.txt", first)
    world.git("add", "new.txt")
    world.write("new.txt", first + second)
    world.git("commit", "-q", "-m", "a part")
    b.turn("add more", {"new.txt": "above the others\n" + first + second + "below the others\n"})
    assert undone in world.commit("new.txt")
    sound(world)


def test_a_commit_of_all_lines_of_another_session_leaves_the_rest_of_the_file_open(
    world: World, a: Agent, b: Agent
) -> None:
    before, mine = world.read("src/lib.py"), "# the first line of a\n"
    b.turn("add a line", {"src/lib.py": before + "# the line of b\n"})
    part, rest = world.read("src/lib.py") + mine, "# the other line of a\n"
    a.turn("add two lines", {"src/lib.py": part + rest})
    world.write("src/lib.py", part)
    world.git("add", "src/lib.py")
    world.write("src/lib.py", part + rest)
    world.git("commit", "-q", "-m", "a part")
    assert [sorted(sessions(world, one)) for one in world.ids("HEAD")] == [[a.sid, b.sid]]
    assert list(a.state["streams"][0]["files"]) == ["src/lib.py"]
    [one] = world.commit("src/lib.py")
    assert list(sessions(world, one)) == [a.sid]
    sound(world)


def test_a_moved_file_links_although_its_session_made_a_new_one_in_its_place(
    world: World, a: Agent
) -> None:
    before = world.read("src/app.py")
    a.turn("add lines", {"src/app.py": before + "a line of the session\nand another one\n"})
    (world.path / "src/app.py").rename(world.path / "src/moved.py")
    a.turn("make a new one", {"src/app.py": "a file of its own\nwith other lines\n"})
    [moved] = world.commit("src/moved.py")
    [made] = world.commit("src/app.py")
    assert touched(world, moved, a.sid) == ["src/moved.py"]
    assert touched(world, made, a.sid) == ["src/app.py"]
    sound(world)


@pytest.mark.parametrize("left", ["", "the first line of another\n"])
def test_a_deletion_is_no_evidence_once_another_made_the_file_anew(
    world: World, a: Agent, b: Agent, left: str
) -> None:
    a.turn("delete it", {"src/app.py": None})
    lines = "the first line of another\nthe second line of another\n"
    b.turn("make it anew", {"src/app.py": lines})
    [one] = world.commit("src/app.py")
    assert list(sessions(world, one)) == [b.sid]
    world.write("src/app.py", left) if left else (world.path / "src/app.py").unlink()
    assert world.commit("src/app.py") == []
    sound(world)
