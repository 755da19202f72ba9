"""Repositories with something to tell, which commands that only read share.

`tell`: three sessions, two worktrees, streams, two commits.  `recorded`: the one in which the
examples of the manual run, one session, committed in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.copies import plant
from tests.support.harness import World

SESSION = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"
GREET = 'def greet(name):\n    return f"hello, {name}"\n'
FAREWELL = '\n\ndef farewell(name):\n    return f"good bye, {name}"\n'
ALPHA = SESSION  # idle, one file committed, one carried forward
BETA = "8f76c111-0000-4a87-9186-848bdd83d62e"  # active, nothing checkpointed yet
GAMMA = "2026-01-06-3a782158-6c7c-4d4d-9c73-eae031da5b18"  # ended, in a linked worktree
RED = "\x1b[31mred"
CHANGED = "line one\nline 2\nline three\n"


@dataclass
class Story:
    """linked: the commit with a checkpoint, its id `checkpoint`; plain: one without."""

    world: World
    linked: str
    checkpoint: str
    plain: str


def tell(world: World) -> Story:
    """Let it all happen."""
    alpha, beta = world.agent(ALPHA), world.agent(BETA)
    alpha.turn("Try something", {"junk.txt": "junk\n"})
    (world.path / "junk.txt").unlink()  # dismissed: the next checkpoint archives its stream
    alpha.turn("Please add hello", {"hello.txt": "hello\nthere\n", "README.md": CHANGED})
    (checkpoint,) = world.commit("hello.txt")
    linked = world.head
    world.write("own.txt", "the person's own\n")
    world.commit("own.txt")
    alpha.turn(f"Make it {RED}", {"a b.txt": "red\n"})
    linked_worktree = world.path.parent / "elsewhere"
    world.git("worktree", "add", "-q", str(linked_worktree), "-b", "side")
    gamma = world.agent(GAMMA, linked_worktree)
    gamma.turn("Work elsewhere", {"w.txt": "w\n"})
    gamma.end()
    beta.prompt("Review the tests")
    return Story(world, linked, checkpoint, world.head)


def contents(path: Path) -> dict[str, bytes]:
    """Every file of gitcp's and every ref below a repository: what reading must leave alone, apart
    from what is kept of git's answers and what was worked out."""
    git = path / ".git"
    folders = [git / "entire-sessions", git / "gitcp", git / "refs"]
    files = [p for folder in folders for p in sorted(folder.rglob("*")) if p.is_file()]
    files = [p for p in files if p.name != "asked" and p.parent.name != "cache"]
    return {str(p): p.read_bytes() for p in files}


def recorded(ground: Path, tmp: Path) -> Path:
    """A repository, to be copied, with one session of two turns: the first is committed, the
    second wrote `greet.py` and is not.  The person changed README.md since."""
    world = World(plant(ground, tmp / "repo"), tmp)
    agent = world.agent(SESSION, tools=True)
    agent.turn("Add a function that greets", {"greet.py": GREET})
    world.commit("greet.py")
    agent.turn("Say good bye too", {"greet.py": GREET + FAREWELL})
    world.write("README.md", CHANGED)
    world.close()
    return world.path
