"""In a partial clone no hook contacts the remote, and no question of an editor or an agent."""

from __future__ import annotations

from pathlib import Path

from gitcp.library import Repository
from tests.support.harness import World


def test_no_hook_contacts_the_remote_of_a_partial_clone(world: World, tmp_path: Path) -> None:
    for number in range(3):
        for name in ("a.txt", "b.txt"):
            world.write(name, "".join(f"{name} line {n}\n" for n in range(number, number + 40)))
        world.git("add", "a.txt", "b.txt")
        world.git("commit", "-q", "-m", f"number {number}")
    world.git("config", "uploadpack.allowFilter", "true")
    world.git("config", "uploadpack.allowAnySHA1InWant", "true")
    source, clone = world.path, tmp_path / "clone"
    world.git("clone", "-q", "--filter=blob:none", source.as_uri(), str(clone))
    world.path = clone
    asked, server = tmp_path / "asked", tmp_path / "server"
    server.write_text(f'#!/bin/sh\necho . >>{asked}\nexec git-upload-pack "$@"\n')
    server.chmod(0o755)
    world.git("config", "remote.origin.uploadpack", str(server))
    world.gitcp("enable")
    agent = world.agent("s1", cwd=clone, tools=True)
    agent.start()
    agent.prompt("move a, change b")
    agent.write("moved.txt", (clone / "a.txt").read_text() + "one more\n")
    agent.write("a.txt", None)
    agent.write("b.txt", "other\n")
    agent.stop()
    world.git("add", "-A")
    world.git("commit", "-q", "--no-status", "-m", "Move it")
    assert len(world.ids("HEAD")) == 1
    agent.prompt("go back to what was")
    agent.write("b.txt", "".join(f"b.txt line {n}\n" for n in range(40)))
    agent.stop()
    world.git("commit", "-q", "-a", "-m", "Go back")
    agent.end()
    assert not asked.exists()
    with Repository(str(clone)) as repository:
        assert len(repository.blame("a.txt", "HEAD~2")) == 40
    assert not asked.exists()
    world.gitcp("blame", "HEAD~2", "--", "a.txt")
    assert asked.exists()
