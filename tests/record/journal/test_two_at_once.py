"""Two sessions' file tools in one file, in every order of their starts, writes and ends."""

from __future__ import annotations

import os
from itertools import permutations
from typing import Any

import pytest

from tests.record.journal.lines import shares, text
from tests.support.clients.calls import begin, end
from tests.support.harness import Agent, World
from tests.support.linking import sound

BASE = text(1, 2, 3, 4)
STEPS = ("start a", "write a", "end a", "start b", "write b", "end b")


def together(order: tuple[str, ...]) -> bool:
    """Whether each call goes start, write, end, and both begin before either ends."""
    at = {step: order.index(step) for step in STEPS}
    own = all(at[f"start {x}"] < at[f"write {x}"] < at[f"end {x}"] for x in "ab")
    return own and max(at["start a"], at["start b"]) < min(at["end a"], at["end b"])


TOOLS = [("Edit", True), ("Edit", False), ("Write", True)]
LONG = bool(os.environ.get("LONG"))
ORDERS = [order for order in permutations(STEPS) if together(order)]
# What each of them makes of a line: alone, and beside or in the other's.
EDITS = {
    "apart": ((text(1), text(1) + "a's own line\n"), (text(4), text(4) + "b's own line\n")),
    "side by side": ((text(2), text(2) + "a's own line\n"), (text(3), "b's own line\n" + text(3))),
}


class Editor:
    """A session's one call: what it is given, what it answers."""

    def __init__(self, agent: Agent, tool: str, old: str, new: str, tells: bool) -> None:
        self.agent, self.tool, self.old, self.new, self.tells = agent, tool, old, new, tells
        self.path = str(agent.world.path / "f.txt")
        self.response: dict[str, Any] = {}
        agent.prompt(f"make it {new.split(maxsplit=1)[0]}")

    def start(self) -> None:
        edit = {"old_string": self.old, "new_string": self.new}
        if self.tool == "Write":
            edit = {"content": self._made()}
        self.call = begin(self.agent, self.tool, file_path=self.path, **edit)

    def _made(self) -> str:
        return self.agent.world.read("f.txt").replace(self.old, self.new)

    def write(self) -> None:
        self.response = {"originalFile": self.agent.world.read("f.txt")} if self.tells else {}
        if self.tool == "Write":
            self.call["tool_input"]["content"] = self._made()  # it has read what it replaces
        self.agent.world.write("f.txt", self._made())

    def end(self) -> None:
        end(self.agent, self.call, self.response)


@pytest.mark.parametrize("where", EDITS if LONG else ["side by side"])
@pytest.mark.parametrize("tool, tells", TOOLS if LONG else TOOLS[:1])
@pytest.mark.parametrize("order", ORDERS, ids=["-".join(s[0] + s[-1] for s in o) for o in ORDERS])
def test_of_two_file_tools_at_work_in_one_file_each_has_its_own_line(
    world: World, a: Agent, b: Agent, order: tuple[str, ...], tool: str, tells: bool, where: str
) -> None:
    world.write("f.txt", BASE)
    world.commit("f.txt")
    editors = {
        name: Editor(agent, tool, *edit, tells)
        for name, agent, edit in zip("ab", (a, b), EDITS[where], strict=True)
    }
    for step in order:
        what, _, name = step.partition(" ")
        getattr(editors[name], what)()
    a.stop()
    b.stop()
    world.commit("f.txt")
    assert shares(world) == {a.sid: 1, b.sid: 1}
    sound(world)
