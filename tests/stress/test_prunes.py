"""A prune at the wrong moment: what a ref of ours needs is there, or put back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.copies import plant
from tests.support.harness import Agent, World
from tests.support.linking import noted

# git, but what no ref needs when one of ours is to move goes after it has: as a prune does
# that read the refs before, and came to its deletions late.
PRUNES = """#!/bin/sh
case " $* " in *" update-ref "*) ;; *) exec '{git}' "$@" ;; esac
cat >"$0.in"
away=$('{git}' prune -n --expire=now | cut -d' ' -f1)
early={early}
take() {{ for o in $away; do rm -f .git/objects/$(echo $o | sed 's|..|&/|'); done; }}
[ $early = no ] || {{ take; early=no; sed -i s/^early=yes/early=no/ "$0"; }}
'{git}' "$@" <"$0.in" || exit
take
"""


@pytest.fixture
def world(ground: Path, tmp_path: Path) -> Iterator[World]:
    made = World(plant(ground, tmp_path / "repo"), tmp_path / "home")
    yield made
    made.close()


def pruned(world: World, *, early: bool = False) -> None:
    """From now on a prune comes by whenever a ref moves; early: once before it, too."""
    folder = world.path.parent / "bin"
    folder.mkdir(exist_ok=True)
    script = PRUNES.format(git=shutil.which("git"), early="yes" if early else "no")
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    world.env["PATH"] = f"{folder}:{os.environ['PATH']}"


def check_connected(world: World) -> None:
    """git finds nothing wrong, and can pack what there is."""
    world.env.pop("PATH", None)
    world.git("fsck", "--no-dangling")
    world.git("gc", "-q", "--prune=now")
    world.git("fsck", "--no-dangling")


def work(agent: Agent) -> None:
    """A turn that changes files in folders, one of them through a filter of git."""
    agent.world.write(".gitattributes", "*.crlf text eol=crlf\n")
    agent.turn("write some", {"a/b/one.py": "one\n", "two.crlf": "two\n", "base.txt": "x\n"})


@pytest.mark.parametrize("early", [False, True])
def test_a_prune_while_a_checkpoint_is_written_takes_nothing(world: World, early: bool) -> None:
    agent = world.agent("s-one")
    pruned(world, early=early)
    work(agent)
    agent.turn("once more", {"a/b/one.py": "another\n"})
    check_connected(world)
    assert world.show(world.branch(), "a/b/one.py") == "another\n"


def test_a_prune_while_a_commit_is_condensed_takes_nothing(world: World) -> None:
    agent = world.agent("s-one")
    work(agent)
    world.git("add", "a")
    # git's own race is not ours, and below a hook git is not what PATH names.
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "some")
    pruned(world)
    agent.turn("go on", {"three.py": "3\n"})
    check_connected(world)
    [note] = noted(world, "HEAD")
    assert list(world.committed(note)) == ["s-one"]
