"""What an agent's tool call does to the files, done again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.clients.process import Client

_AGENTS = ("CLAUDE", "CODEX", "GEMINI", "COPILOT", "OPENCODE", "QWEN", "PI_")
# A recorded `sleep` is where a person interrupted it, or nothing worth waiting for.
_NAP = {False: "sleep() { :; }; ", True: "sleep() { exit 130; }; "}


def apply(
    tool_input: Mapping[str, Any],
    cwd: Path,
    env: Mapping[str, str],
    client: Client,
    interrupted: bool = False,
) -> None:
    """Do what the tool call did: write, replace, patch, or run the command in a shell of its own,
    without a terminal.

    interrupted: a command stops at its first `sleep`; a tool that only reads does nothing.
    """
    if "command" in tool_input:
        command = str(tool_input["command"])
        if command.startswith("*** Begin Patch"):
            return patch(command, cwd)
        client.run(["bash", "-c", _NAP[interrupted] + command], cwd, env)
    elif "content" in tool_input:
        path = cwd / tool_input["file_path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tool_input["content"])
    elif "old_string" in tool_input:
        path = cwd / tool_input["file_path"]
        times = -1 if tool_input.get("replace_all") else 1
        text = path.read_text().replace(tool_input["old_string"], tool_input["new_string"], times)
        path.write_text(text)
    for edit in tool_input.get("edits", ()):
        path = cwd / tool_input["file_path"]
        path.write_text(path.read_text().replace(edit["oldText"], edit["newText"], 1))
    return None


def patch(text: str, cwd: Path) -> None:
    """Codex's patch: files added whole, deleted, or changed by hunks without line numbers."""
    for part in text.split("\n*** ")[1:]:
        head, _, body = part.partition("\n")
        kind, _, name = head.partition(" File: ")
        path = cwd / name
        if kind == "Add":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(line[1:] + "\n" for line in body.splitlines()))
        elif kind == "Delete":
            path.unlink()
        elif kind == "Update":
            for hunk in body.split("@@")[1:]:
                lines = hunk.partition("\n")[2].splitlines()
                old = "".join(line[1:] + "\n" for line in lines if line[:1] in " -")
                new = "".join(line[1:] + "\n" for line in lines if line[:1] in " +")
                path.write_text(path.read_text().replace(old, new, 1))


def environment(recorded: Mapping[str, str], home: Path, client: Client) -> dict[str, str]:
    """Ours with the names the agent sets."""
    names = {k: v for k, v in recorded.items() if k.startswith(_AGENTS)}
    if "CLAUDE_PID" in names:
        names["CLAUDE_PID"] = str(client.pid)
    return {**os.environ, **names, "HOME": str(home)}
