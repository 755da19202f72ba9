"""The ground on which commits of every form are made, and what must be true after each.

A session changed README.md and src/app.py and wrote new.py; its turn is over.  The person then
runs a script.  What each commit carries is told by the files of its checkpoints, in brackets
where a note carries the id.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.support.copies import plant
from tests.support.harness import World
from tests.support.linking import linked, moved, shell, sound

README = "line one\nline two\nline three\n"
NEW = "def power(a, b):\n    return a ** b\n"
WORK = {"README.md": README + "the agent's line\n", "src/app.py": "print('agent')\n", "new.py": NEW}
BOTH, ALL = "README.md src/app.py", "README.md new.py src/app.py"

Form = tuple[str, list[list[str]], str]  # script, what the commits carry (newest first), left

_GPG = """#!/bin/sh
cat >/dev/null
echo '[GNUPG:] SIG_CREATED ' >&2
printf '%s\\n' '-----BEGIN PGP SIGNATURE-----' x '-----END PGP SIGNATURE-----'
"""
# Puts the words of $HOME/todo, one a line, in place of the commands of a rebase's list.
_STEPS = """#!/bin/sh
grep -v '^#' "$1" | grep . | cut -d' ' -f2- | paste -d' ' "$HOME/todo" - >"$1.new"
mv "$1.new" "$1"
"""


def worked(ground: Path, tmp: Path) -> Path:
    """A repository in which the session has done its turn, to be copied."""
    world = World(Path(shutil.copytree(ground, tmp / "repo")), tmp)
    world.env = {"HOME": str(tmp), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    world.agent("session-a").turn("do the work", WORK)
    world.close()
    return world.path


def copied(worked: Path, tmp: Path) -> Iterator[World]:
    """The world of one test, with tools in its home for scripts that need them."""
    made = World(plant(worked, tmp / "repo"), tmp / "home")
    moved(made.path, made)
    for name, text in (("gpg", _GPG), ("steps", _STEPS)):
        (made.home / name).write_text(text)
        (made.home / name).chmod(0o755)
    made.env |= {"GIT_SEQUENCE_EDITOR": ":", "GIT_EDITOR": ":"}
    yield made
    made.close()


def left(world: World) -> str:
    """The files of the session that no commit has settled."""
    return " ".join(world.state("session-a").get("files_touched", []))


def holds(world: World, form: Form, later: bool = False, lost: bool = False) -> None:
    """Run the script of a form and assert what came of it.

    later: no hook tells of its end, the session's next event sees it.  lost: the person threw
    a linked commit away.
    """
    base = world.head
    script, carried, unsettled = form
    shell(world, script)
    if later:
        world.agent("session-a").start("resume")
    found, rest = linked(world, base), left(world)
    assert (found, rest) == (carried, unsettled), (found, rest)
    sound(world, lost=lost)
