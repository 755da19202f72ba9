"""A clone that fetches what others recorded finds nothing wrong with it."""

from __future__ import annotations

from pathlib import Path

from tests.support import gits
from tests.support.harness import V1, Agent, World
from tests.support.linking import noted

NOTES = "refs/notes/gitcp"
SILENT = gits.SILENT


def test_a_note_on_a_commit_that_was_amended_away_stays_here_and_is_no_finding(
    world: World, a: Agent, tmp_path: Path
) -> None:
    bare = world.share()
    a.turn("write", {"one.py": "one line of a session\n"})
    world.git("add", "-A")
    world.git(*SILENT, "commit", "-q", "-m", "made by another tool")
    world.agent("session-b").start()
    before = world.git("rev-parse", "HEAD")
    [link] = noted(world, before)
    world.git("commit", "-q", "--amend", "-m", "in other words")
    assert world.git("rev-parse", "HEAD") != before
    world.git("push", "-q", "origin", "main")
    fresh = tmp_path / "fresh"
    world.git("clone", "-q", str(bare), str(fresh))
    for ref in (V1, NOTES):
        world.git("fetch", "-q", "origin", f"{ref}:{ref}", cwd=fresh)
    there = World(fresh, world.home, world.env)
    listed = there.git("notes", "--ref=gitcp", "list")
    assert before not in listed and link in there.git("log", "-1", "--notes=gitcp")
    assert there.gitcp("fsck") == ""
