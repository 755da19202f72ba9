"""What a step takes away and undo brings back stays its authors' work."""

from __future__ import annotations

import json

from tests.support.harness import World


def test_work_with_a_persons_lines_on_it_still_links_after_a_rewind_and_its_undo(
    world: World,
) -> None:
    agent = world.agent("session-a", tools=True)
    agent.turn("Add a function", {"greet.py": "def greet():\n    return 1\n"})
    world.commit("greet.py")
    agent.turn(
        "Add another", {"greet.py": world.read("greet.py") + "\ndef more():\n    return 2\n"}
    )
    world.write("greet.py", world.read("greet.py") + "\nprint(more())\n")
    points = [json.loads(line) for line in world.gitcp("rewind", "--list", "--json").splitlines()]
    before = next(point["id"] for point in points if point["kind"] == "prompt")
    world.gitcp("rewind", "--force", "--to", before)
    world.gitcp("undo")
    assert world.commit("greet.py")
