"""The repository in which the examples of the manual run: one session, committed in part."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.harness import World

SESSION = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"
GREET = 'def greet(name):\n    return f"hello, {name}"\n'
FAREWELL = '\n\ndef farewell(name):\n    return f"good bye, {name}"\n'


def recorded(ground: Path, tmp: Path) -> Path:
    """A repository, to be copied, with one session of two turns: the first is committed, the
    second wrote `greet.py` and is not.  The person changed README.md since."""
    world = World(Path(shutil.copytree(ground, tmp / "repo")), tmp)
    agent = world.agent(SESSION, tools=True)
    agent.turn("Add a function that greets", {"greet.py": GREET})
    world.commit("greet.py")
    agent.turn("Say good bye too", {"greet.py": GREET + FAREWELL})
    world.write("README.md", "line one\nline 2\nline three\n")
    world.close()
    return world.path
