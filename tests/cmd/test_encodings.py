"""Messages and names in the encoding that i18n.commitEncoding names are shown as they are meant."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.support.harness import World

SUBJECT, NAME = "Größe ändern", "Jürgen Müller"


def committed(world: World, encoding: str) -> str:
    """HEAD: a linked commit whose message and author are in an encoding; its checkpoint."""
    world.git("config", "i18n.commitEncoding", encoding)
    world.agent("session-a").turn("work", {"one.txt": "a line of the agent\n"})
    (world.path / "one.txt").write_text("a line of the agent\na line of the person's\n")
    subprocess.run(["git", "add", "."], cwd=world.path, check=True)
    codec = "utf-8" if encoding.startswith("no-such") else encoding
    env = {**os.environb, b"GIT_AUTHOR_NAME": NAME.encode(codec)}
    argv = ["git", "commit", "-q", "-F", "-"]
    text = f"{SUBJECT}\n\nÜber alles\n".encode(codec)
    subprocess.run(argv, cwd=world.path, check=True, env=env, input=text)
    (checkpoint,) = world.ids("HEAD")
    return checkpoint


# Commands that show the message of a commit, or who wrote it.
COMMANDS = [
    ("log",),
    ("log", "--json"),
    ("show", "HEAD"),
    ("show", "--json", "HEAD"),
    ("why", "one.txt:1"),
    ("why", "--json", "one.txt:2"),
    ("blame", "one.txt"),
    ("blame", "--porcelain", "one.txt"),
    ("search", "work"),
    ("search", "--json", "Größe"),
    ("page", "-o", "page.html"),
]


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "CP1252", "UTF-8", "no-such-encoding"])
def test_messages_and_names_are_shown_as_they_are_meant(world: World, encoding: str) -> None:
    checkpoint = committed(world, encoding)
    for command in COMMANDS:
        out = world.gitcp(*command)
        if command[0] == "page":
            out = (world.path / "page.html").read_text()
        found = [word for word in (SUBJECT, NAME, *map(escaped, (SUBJECT, NAME))) if word in out]
        assert found or command == ("search", "work"), command
        assert "\\xf6" not in out and "\\udcf6" not in out and "\ufffd" not in out, command
    assert SUBJECT in world.gitcp("show", checkpoint)


def escaped(text: str) -> str:
    return json.dumps(text)[1:-1]
