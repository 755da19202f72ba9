"""A file tool that writes what stood there once has edited the file all the same."""

from __future__ import annotations

import pytest

from tests.journal.lines import text
from tests.support.clients.calls import begin, edit, end, run
from tests.support.harness import Agent, World
from tests.support.linking import sessions, sound, touched

BEFORE, AFTER = text(1, 2, 3), text(1, 2, 3, 4, 5)


@pytest.mark.parametrize("heard", ["its tool", "its transcript", "a commit before its end"])
@pytest.mark.parametrize("whose", ["the person's", "its own", "another session's"])
def test_a_file_tools_edit_back_to_an_older_content_links(
    world: World, a: Agent, b: Agent, whose: str, heard: str
) -> None:
    world.write("f.txt", BEFORE)
    world.commit("f.txt")
    writer = {"its own": a, "another session's": b}.get(whose)
    if writer:
        writer.prompt("more lines")
        edit(writer, "f.txt", AFTER)
        writer.stop()
    else:
        world.write("f.txt", AFTER)
    world.commit("f.txt")
    a.prompt("take the lines out again")
    if heard == "its transcript":
        run(a, "true")
        a.write("f.txt", BEFORE)
    else:
        call = begin(a, "Write", file_path=str(world.path / "f.txt"))
        world.write("f.txt", BEFORE)
        if heard == "its tool":
            end(a, call)
    if heard != "a commit before its end":
        a.stop()
    [one] = world.commit("f.txt")
    assert touched(world, one, a.sid) == ["f.txt"]
    assert sessions(world, one)[a.sid]["initial_attribution"]["lines_removed"]["agent"] == 2
    sound(world)
