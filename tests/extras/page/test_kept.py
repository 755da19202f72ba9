"""A page keeps what it worked out, and is the same without it."""

from __future__ import annotations

import shutil

from tests.support.harness import World
from tests.support.warm import run

_SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA1bC2"  # gitcp: a made-up token


def make(world: World) -> str:
    done = run("page", "-o", "-", "HEAD", cwd=world.path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_second_page_is_the_same_with_what_was_kept_and_without(world: World) -> None:
    agent = world.agent("session-a")
    agent.turn("Write it", {"a.py": f"token = '{_SECRET}'\nprint(1)\n", "b.txt": "plain\n"})
    world.commit("a.py", "b.txt")
    first = make(world)
    cache = world.path / ".git" / "gitcp" / "cache"
    assert (cache / "clean").stat().st_mode & 0o077 == 0
    assert (cache / "drawn").stat().st_mode & 0o077 == 0
    for name in ("clean", "drawn"):
        assert _SECRET.encode() not in (cache / name).read_bytes()
    assert make(world) == first
    shutil.rmtree(cache)
    assert make(world) == first


def test_what_was_drawn_under_other_rules_is_drawn_again(world: World) -> None:
    agent = world.agent("session-a")
    agent.turn("Write it", {"a.txt": "the codeword is zebra-seventeen\n"})
    world.commit("a.txt")
    open_page = make(world)
    world.git("config", "gitcp.redact", "zebra-[a-z]+")
    closed = make(world)
    assert closed != open_page
    shutil.rmtree(world.path / ".git" / "gitcp" / "cache")
    assert make(world) == closed
