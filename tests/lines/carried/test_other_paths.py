"""Lines are their authors' where a rewrite gave their file another path."""

from __future__ import annotations

from tests.lines.carried.authors import tell
from tests.support.clients.calls import edit
from tests.support.harness import World


def test_a_directory_that_becomes_the_top_keeps_the_authors_of_its_lines(world: World) -> None:
    world.write("sub/a.py", "mine = typed_by_hand(1)\n")
    world.write("top.py", "other = 1\n")
    world.commit()
    a = world.agent("session-a", tools=True)
    a.prompt("write it")
    edit(a, "sub/a.py", "mine = typed_by_hand(1)\nits = written_by_a_session(1)\n")
    edit(a, "sub/b.py", "more = written_by_a_session(2)\nlast = written_by_a_session(3)\n")
    a.stop()
    world.commit()
    world.write("sub/b.py", "more = written_by_a_session(2)\nhis = typed_by_hand(3)\n")
    world.commit()
    world.env["FILTER_BRANCH_SQUELCH_WARNING"] = "1"
    world.git("filter-branch", "-f", "--subdirectory-filter", "sub", "HEAD")
    assert tell(world, "a.py") == "PS"
    assert tell(world, "b.py") == "SP"
