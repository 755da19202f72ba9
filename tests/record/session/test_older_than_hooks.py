"""A session that is older than its hooks: its first prompts were not recorded."""

from __future__ import annotations

import json

from gitcp.library import Repository
from tests.support.clients.calls import run
from tests.support.harness import World


def test_a_prompt_has_its_number_in_the_conversation(world: World) -> None:
    a = world.agent("session-a", tools=True)
    for text in ("think about zebras", "think about yaks"):
        a.say({"type": "user", "message": {"role": "user", "content": text}})
        a.answer([{"type": "text", "text": f"{text}, done"}])
    a.prompt("add alpha")
    run(a, "echo alpha = 1 >alpha.py")
    a.stop()
    a.turn("add beta", {"beta.py": "beta = 1\n"})
    world.commit()
    for path, want in (("alpha.py", (3, "add alpha")), ("beta.py", (4, "add beta"))):
        (line,) = (json.loads(row) for row in world.gitcp("blame", "--json", path).splitlines())
        assert (line["number"], line["prompt"]) == want
        (hit,) = (
            json.loads(row) for row in world.gitcp("search", "--json", f"path:{path}").splitlines()
        )
        assert (hit["number"], hit["prompt"]) == want
        (row,) = Repository(str(world.path)).blame(path)
        _, words = Repository(str(world.path)).read_conversation({**row, "number": 1})
        assert words[0] == ("User", want[1]), "a record that counts from the first hook"
