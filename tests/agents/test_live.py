"""Real clients at work in a repository that `gitcp enable` set up for them."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.support.clients.real import CLIENTS, Client, write_file
from tests.support.harness import World

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(("name", "agent"), [("pi", "pi"), ("droid", "factory-droid")])
def test_what_a_real_client_writes_is_linked_with_what_it_was_asked_and_its_model(
    world: World, name: str, agent: str
) -> None:
    client = Client(name, world.path, world.home, [write_file(world.path, name, "new.txt", "1\n")])
    world.gitcp("enable", f"--agent={agent}")
    try:
        client.run("Write new.txt")
    finally:
        client.model.close()
    assert world.read("new.txt") == "1\n"
    world.commit("new.txt")
    assert len(world.ids("HEAD")) == 1
    text = world.gitcp("show", "--full", "HEAD")
    assert "  > Write new.txt\n" in text and "    wrote   new.txt" in text
    assert "\n> Write new.txt\n" in world.gitcp("why", "new.txt:1")


# Amp sends session.start alone to a plugin that it is told to execute, in the folder of that, and
# names no workspace: all of a turn is given to our handlers in its process, with its helpers.
AMP = """
import { writeFileSync } from "node:fs"
import plugin from "%(plugin)s"
export default function (amp) {
  const handlers = {}
  const made = { tool: "create_file", input: { path: "%(top)s", content: "" } }
  const [workspaceRoot] = amp.helpers.filesModifiedByToolCall(made)
  const on = (name, handler) => (handlers[name] = handler)
  plugin({ on, helpers: amp.helpers, system: { workspaceRoot } })
  amp.on("session.start", async (event) => {
    const thread = event.thread, path = "%(path)s"
    const call = { thread, toolUseID: "t-1", tool: "create_file", input: { path, content: "1\\n" } }
    await handlers["session.start"](event)
    await handlers["agent.start"]({ thread, message: "Write new.txt", id: 1 })
    const answer = await handlers["tool.call"](call)
    if (answer.action === "allow") writeFileSync(path, "1\\n")
    await handlers["tool.result"]({ ...call, status: "done", output: "ok" })
    await handlers["agent.end"]({ thread, message: "Write new.txt", id: 1, status: "done" })
  })
}
"""


def test_amp_runs_the_plugin_and_what_it_tells_of_a_turn_is_linked(world: World) -> None:
    program = CLIENTS / "amp"
    if not program.exists():
        pytest.skip("no amp here: .ci/get-clients brings it")
    world.gitcp("enable", "--agent=amp")
    plugin, driver = world.path / ".amp" / "plugins" / "gitcp.ts", world.home / "driver.ts"
    driver.write_text(AMP % {"plugin": plugin, "top": world.path, "path": world.path / "new.txt"})
    for run in (plugin, driver):
        about = json.dumps({"thread": {"id": f"T-{run.stem}"}})
        done = subprocess.run(
            [program, "plugins", "exec", run, "session.start", "--data", about],
            cwd=world.path,
            env={**os.environ, **world.env, "HOME": str(world.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done
        assert (world.path / ".git" / "gitcp" / "heard" / "amp").exists()
    assert world.read("new.txt") == "1\n"
    world.commit("new.txt")
    assert len(world.ids("HEAD")) == 1
    why = world.gitcp("why", "new.txt:1")
    assert "Amp" in why and "\n> Write new.txt\n" in why
