"""A person types into a file while a file tool's call on it is open: the call has what it named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.record.journal.lines import text
from tests.support.clients.calls import begin, end
from tests.support.harness import Agent, World

# The input of a call on a file with the lines 1, 2 and 3.
INPUTS: dict[str, dict[str, Any]] = {
    "Edit": {"old_string": text(2), "new_string": text(2, 4)},
    "MultiEdit": {
        "edits": [
            {"old_string": text(2), "new_string": text(2, 4)},
            {"old_string": text(3), "new_string": text(3, 5)},
        ]
    },
    "Write": {"content": text(1, 2, 4, 3)},
}


def write_as(tool: str, content: str) -> str:
    """What a tool makes of the content that it finds."""
    given = INPUTS[tool]
    if tool == "Write":
        return str(given["content"])
    for change in given.get("edits", [given]):
        content = content.replace(change["old_string"], change["new_string"])
    return content


def authors(world: World, path: str) -> dict[str, str]:
    rows = map(json.loads, world.gitcp("blame", "--json", path).splitlines())
    told = [row["who"] for row in rows if "who" in row]
    return dict(zip(world.read(path).splitlines(), told, strict=True))


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("tool", INPUTS)
def test_a_call_has_what_its_input_names(world: World, a: Agent, tool: str, is_told: bool) -> None:
    """is_told: the client tells what stood in the file when its tool came to it."""
    world.write("f.txt", text(1, 2, 3))
    world.commit()
    a.prompt("edit it")
    call = begin(a, tool, file_path=str(world.path / "f.txt"), **INPUTS[tool])
    found = world.read("f.txt") + text(6)
    world.write("f.txt", found)
    written = write_as(tool, found)
    world.write("f.txt", written + text(7))
    end(a, call, {"originalFile": found} if is_told else {})
    a.stop()
    world.commit()
    typed = authors(world, "f.txt")
    own = {line for line, who in typed.items() if who == "session"}
    assert own == set(text(*((4, 5) if tool == "MultiEdit" else (4,))).splitlines())
    assert typed[text(7).strip()] == "unknown"
    if tool != "Write":
        assert typed[text(6).strip()] == ("person" if is_told else "unknown")


def test_what_a_formatter_made_of_a_calls_lines_is_the_sessions(world: World, a: Agent) -> None:
    world.write("f.py", "import os\n")
    world.commit()
    a.prompt("write it")
    written = "import os\nnames = ['one', 'two']\nprint(names,os.getcwd())\n"
    call = begin(a, "Write", file_path=str(world.path / "f.py"), content=written)
    world.write("f.py", 'import os\n\nnames = ["one", "two"]\nprint(names, os.getcwd())\n')
    end(a, call)
    a.stop()
    world.commit()
    told = authors(world, "f.py")
    assert told['names = ["one", "two"]'] == told["print(names, os.getcwd())"] == "session"
