"""An archive of which commits have settled everything is no finding: clean takes it in time."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World

BASE = "print('app')\n"


@pytest.mark.parametrize("path", ["src/app.py", "c.py"], ids=["conflict", "no conflict"])
def test_fsck_finds_nothing_once_stashed_work_is_resolved_by_hand_and_committed(
    world: World, a: Agent, path: str
) -> None:
    a.turn("first", {"src/app.py": BASE + "print('a row of session a')\n"})
    world.git("stash", "-q", "-u")
    world.write("person.txt", "the person's\n")
    world.commit()
    a.end()
    world.agent("session-c").turn("more", {path: BASE + "print('a row of session c')\n"})
    world.commit()
    world.git("stash", "pop", "-q", ok=False)
    rows = world.read("src/app.py").splitlines(keepends=True)
    both = [row for row in rows if not row.startswith(("<<<<<<<", "=======", ">>>>>>>"))]
    world.write("src/app.py", "".join(both))
    assert len(world.commit()) == 1
    world.agent("session-d").start()
    assert world.open() == [] and len(world.archives) == 1
    assert world.gitcp("fsck") == ""
