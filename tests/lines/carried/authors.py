"""Whose the lines of a file are, as blame, why and lines.json say."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.lines.blame.told_lines import blame_names
from tests.support.clients.calls import edit
from tests.support.harness import Agent, World
from tests.support.linking import v1

_LETTERS = {"session-a": "S", "session-b": "T", "person": "P", "unknown": "?"}


def tell(world: World, path: str) -> str:
    """A letter a line: S and T for the sessions, P for the person, ? for unknown."""
    names = blame_names(world, path)
    for number, name in enumerate(names, 1):
        told = json.loads(world.gitcp("why", "--json", f"{path}:{number}"))
        assert (told["session_id"] or told["who"]) == name, (path, number)
    return "".join(_LETTERS[name] for name in names)


def list_recorded(world: World, path: str) -> str:
    """The same of lines.json of the last commit's checkpoints, '-' for lines that none has."""
    lines: dict[int, str] = {}
    for name, data in v1(world, "lines.json").items():
        metadata = json.loads(v1(world, name.replace("lines.json", "metadata.json")).popitem()[1])
        blob = world.object(f"HEAD:{path}").oid
        for entry in json.loads(data).get(path, []):
            if entry["oid"] != blob:
                continue
            for first, last, who, *_ in entry["ranges"]:
                letter = _LETTERS.get(who, _LETTERS[metadata["session_id"]])
                lines.update(dict.fromkeys(range(first, last + 1), letter))
    count = len(world.show("HEAD", path).splitlines())
    return "".join(lines.get(line, "-") for line in range(1, count + 1))


def write_turn(agent: Agent, prompt: str, **files: str) -> None:
    """A turn whose calls leave texts at paths, of which a dot is spelled `_`."""
    agent.prompt(prompt)
    for name, text in files.items():
        edit(agent, name.replace("_", "."), text)
    agent.stop()


def format_files(world: World, *paths: str) -> None:
    """Format files as the formatter of this project does."""
    ruff = [sys.executable, "-m", "ruff", "-q"]
    files = [str(world.path / path) for path in paths]
    subprocess.run([*ruff, "check", "--isolated", "--select=I", "--fix", *files], check=True)
    subprocess.run([*ruff, "format", "--isolated", *files], check=True)
