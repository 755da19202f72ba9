"""Work that a rewind took away, and that comes back after a linked commit, is linked as before."""

from __future__ import annotations

import json

import pytest

from tests.steps.rewind import going
from tests.support.clients.calls import run
from tests.support.harness import Json, World


def list_points(world: World) -> list[str]:
    return [point["id"] for point in going.points(world, "--all")]


@pytest.mark.parametrize("way", ["undo", "rewind"])
def test_work_that_comes_back_after_a_linked_commit_is_linked(world: World, way: str) -> None:
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.turn("write one", {"a.py": "a = 1\nb = 2\n"})
    after = next(p["id"] for p in going.points(world) if p["kind"] == "temporary")
    assert going.run(world, "rewind", "--files-only", "--session", "session-a").returncode == 0
    assert not (world.path / "a.py").exists()
    b.turn("write two", {"b.py": "c = 1\nd = 2\n"})
    assert world.commit()
    if way == "undo":
        assert going.run(world, "undo", "-y").returncode == 0
    else:
        ended = going.run(world, "rewind", "--files-only", "--all", "--to", after, "--", "a.py")
        assert ended.returncode == 0, ended
    assert (world.path / "a.py").exists()
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]
    said = world.gitcp("blame", "a.py", "--json")
    assert said.count('"session_id":"session-a"') == 2, said


def test_a_file_that_another_session_moved_links_both(world: World) -> None:
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.turn("write one", {"a.py": "a = 1\nb = 2\n"})
    b.prompt("move it")
    given = {"command": "mv a.py b.py"}
    tool: Json = {"tool_name": "Bash", "tool_input": given, "tool_use_id": "m"}
    b.event("PreToolUse", **tool)
    (world.path / "a.py").rename(world.path / "b.py")
    b.answer([{"type": "tool_use", "id": "m", "name": "Bash", "input": given}])
    b.event("PostToolUse", **tool, tool_response={})
    b.write("b.py", "a = 1\nb = 2\nc = 3\n")
    b.stop()
    [one] = world.commit()
    assert sorted(world.committed(one)) == ["session-a", "session-b"]
    said = world.gitcp("blame", "b.py", "--json")
    assert said.count('"session_id":"session-a"') == 2, said


@pytest.mark.parametrize(
    ("command", "by_a"),
    [
        ("mv a.py b.py; echo 'fourth = 4' >>b.py", 3),
        ("git add a.py; git mv a.py b.py; sed -i '1i zero = 0' b.py", 3),
        ("mkdir d; mv a.py d/b.py; sed -i 's/second_of_all = 2/by_b_alone(7)/' d/b.py", 2),
        ("cat a.py >b.py; echo 'fourth = 4' >>b.py; rm a.py", 3),
    ],
)
def test_a_file_that_another_session_moved_and_edited_in_one_call_links_both(
    world: World, command: str, by_a: int
) -> None:
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.turn("write one", {"a.py": "first_of_all = 1\nsecond_of_all = 2\nthird_of_all = 3\n"})
    b.prompt("move it and go on")
    run(b, command)
    b.stop()
    told = [json.loads(row) for row in world.gitcp("sessions", "--json").splitlines()]
    (path,) = (str(p.relative_to(world.path)) for p in world.path.rglob("b.py"))
    touched = {row["session_id"]: row["files_touched"] for row in told}
    assert all(path in files for files in touched.values()) and len(touched) == 2, touched
    [one] = world.commit()
    assert sorted(world.committed(one)) == ["session-a", "session-b"]
    rows = [json.loads(row) for row in world.gitcp("blame", path, "--json").splitlines()]
    assert [row["session_id"] for row in rows].count("session-a") == by_a, rows
    assert [row["session_id"] for row in rows].count("session-b") == len(rows) - by_a, rows
