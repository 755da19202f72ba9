"""A tool without a client that gitcp knows, whose events are `gitcp-hook event`'s records."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.record.journal.lines import text
from tests.support.harness import V1, World
from tests.support.linking import ids
from tests.support.paths import ENTRY

ARGV = [sys.executable, "-I", "-S", str(ENTRY), "event"]
SESSION = "greeter-1"


class Teller:
    """A tool that tells of its calls: by a process an event, or by one for all."""

    def __init__(self, world: World, way: str) -> None:
        self.world = world
        pipes: Any = {"stdin": subprocess.PIPE, "text": True}
        self.stream = subprocess.Popen(ARGV, cwd=world.path, **pipes) if way == "one" else None
        self.tell("turn-start", prompt="greet the world")

    def tell(self, event: str, **more: Any) -> None:
        record = {"type": "event", "event": event, "agent": "greeter", "session_id": SESSION}
        line = json.dumps({**record, **more}) + "\n"
        if self.stream is None:
            subprocess.run(ARGV, cwd=self.world.path, input=line, text=True, check=True)
            return
        assert self.stream.stdin
        self.stream.stdin.write(line)
        self.stream.stdin.flush()

    def make(self, path: str, asked: str = "") -> None:
        """A call that writes a file and tells how long that took.  asked: a path that the person
        writes while the tool waits for leave."""
        call = {"id": f"make-{path}", "kind": "shell", "command": "make"}
        self.tell("tool-start", tool=call)
        self.wait(call["id"])
        if asked:
            self.world.write(asked, text(9))
            time.sleep(0.3)  # more than a process takes to begin
        began = time.monotonic()
        self.world.write(path, text(1, 2))
        took = int((time.monotonic() - began) * 1000)
        self.tell("tool-end", tool={**call, "duration_ms": took})

    def wait(self, call: str) -> None:
        """Until the start of a call is known, as a tool does that lets itself be refused one."""
        journal = self.world.path / ".git/gitcp/journal"
        while not journal.exists() or f'"open":"{call}"' not in journal.read_text():
            assert self.stream is None or self.stream.poll() is None, "it ended"
            time.sleep(0.01)

    def end(self) -> None:
        self.tell("turn-end")
        if self.stream:
            self.stream.communicate()


def added(world: World) -> dict[str, int]:
    """Whose lines HEAD adds, of a session without a transcript."""
    [one] = ids(world)
    metadata = json.loads(world.git("show", f"{V1}:{one[:2]}/{one[2:]}/0/metadata.json"))
    assert metadata["session_id"] == SESSION
    return dict(metadata["initial_attribution"]["lines_added"])


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["each", "one"])
def test_what_a_tool_made_whose_call_tells_how_long_it_took_is_its_sessions(
    world: World, way: str
) -> None:
    teller = Teller(world, way)
    paths = [f"made-{n}.txt" for n in range(5)]
    for path in paths:
        teller.make(path)
    teller.end()
    world.commit(*paths)
    assert added(world) == {"agent": 10, "others": 0, "person": 0, "unknown": 0}


@pytest.mark.parametrize("way", [pytest.param("each", marks=pytest.mark.linux), "one"])
def test_what_a_person_wrote_while_a_tool_waited_for_leave_is_the_persons(
    world: World, way: str
) -> None:
    teller = Teller(world, way)
    teller.make("made.txt", asked="mine.txt")
    teller.end()
    world.commit("made.txt", "mine.txt")
    assert added(world) == {"agent": 2, "others": 0, "person": 1, "unknown": 0}
