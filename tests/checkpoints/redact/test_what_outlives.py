"""What outlives a turn below `.git` is redacted, whatever of the turn had the secret."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import World

TOKEN = "ghp_" + "a1B2" * 9
PASSWORD = "hunter2-Zx.9q"


def list_holders(world: World, secret: str) -> list[str]:
    """The files below the git directory and of the person's state that have a secret; `objects` for
    git's objects."""
    places = [world.path / ".git", world.home / ".local" / "state" / "gitcp"]
    paths = [
        Path(at) / name for place in places for at, _, names in os.walk(place) for name in names
    ]
    holders = [str(path) for path in paths if secret.encode() in path.read_bytes()]
    argv = ["git", "cat-file", "--batch-all-objects", "--batch"]
    if secret.encode() in subprocess.check_output(argv, cwd=world.path):
        holders.append("objects")
    return holders


@pytest.mark.parametrize(
    ("secret", "command"),
    [
        (TOKEN, f"curl -H 'Authorization: Bearer {TOKEN}' https://x.example && touch made.txt"),
        (TOKEN, f"GH_TOKEN={TOKEN} gh pr list >made.txt"),
        (PASSWORD, f"sshpass -p {PASSWORD} scp host:made.txt ."),
        (PASSWORD, f"curl -u me:{PASSWORD} -o made.txt https://x.example"),
        (PASSWORD, f"git clone https://me:{PASSWORD}@x.example/made.txt"),
        (PASSWORD, f"export DB_PASSWORD={PASSWORD}; ./make made.txt"),
    ],
)
def test_a_secret_in_the_words_of_a_command_is_in_no_file_afterwards(
    world: World, secret: str, command: str
) -> None:
    agent = world.agent("s1", tools=True)
    agent.start()
    agent.prompt(f"run {command}")
    tool: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": "toolu_b"}
    given = {"command": command, "description": "run it"}
    agent.event("PreToolUse", **tool, tool_input=given)
    (world.path / "made.txt").write_text("made\n")
    agent.answer([{"type": "tool_use", "id": "toolu_b", "name": "Bash", "input": given}])
    output = f"+ {command}\nwrote made.txt\n"
    agent.event("PostToolUse", **tool, tool_input=given, tool_response={"stdout": output})
    agent.stop()
    assert list_holders(world, secret) == []
    lines = [
        json.loads(line) for line in (world.path / ".git/gitcp/journal").read_text().splitlines()
    ]
    [opening] = [line for line in lines if line.get("open") == "toolu_b"]
    assert (
        "made.txt" in opening["names"] or "host" in opening["names"] or "clone" in opening["names"]
    )
    agent.prompt(f"again {command}")
    agent.stop()
    world.commit("made.txt")
    agent.end()
    assert list_holders(world, secret) == []


def test_a_secret_of_work_that_was_given_up_or_asked_about_is_in_no_file(world: World) -> None:
    agent = world.agent("s1", tools=True)
    agent.start()
    agent.prompt(f"use {TOKEN} to write it")
    agent.write("given-up.txt", "one\n")
    agent.answer([{"type": "text", "text": f"I used {TOKEN}"}])
    agent.stop()
    world.git("add", "given-up.txt")
    world.git("reset", "-q", "--hard")
    agent.prompt(f"not with {TOKEN}, write another")
    agent.write("kept.txt", "two\n")
    agent.stop()
    world.git("add", "kept.txt")
    world.git("commit", "-q", "-m", f"Use {TOKEN[:8]}")
    agent.end()
    questions = [
        *(["search", "write"], ["page"], ["log", "--abandoned"], ["why", "kept.txt:1"]),
        *(["rewind", "--list"], ["status"], ["show", "HEAD"], ["stats"], ["clean"], ["fsck"]),
        ["recap", "--since", "2005-01-01"],
    ]
    for words in questions:
        assert TOKEN not in world.gitcp(*words), words
    assert list_holders(world, TOKEN) == []
