"""A prune at the wrong moment: what a ref of ours needs is there, or put back."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.copies import plant
from tests.support.harness import Agent, World
from tests.support.linking import noted

# git, but what no ref needs when one of ours is to move goes after it has: as a prune does
# that read the refs before, and came to its deletions late.
PRUNES = """#!{python} -IS
import os, subprocess, sys
git, early = "{git}", sys.argv[0] + ".early"
if "update-ref" not in sys.argv:
    os.execv(git, ["git", *sys.argv[1:]])

def take(oids):
    for oid in oids:
        if os.path.exists(loose := f".git/objects/{{oid[:2]}}/{{oid[2:]}}"):
            os.unlink(loose)

run = subprocess.Popen([git, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
orders = b""
while piece := os.read(0, 1 << 16):
    orders += piece
    if not orders.endswith(b"\\0commit\\0"):
        continue
    listed = subprocess.check_output([git, "prune", "-n", "--expire=now"], text=True)
    away = [line.split()[0] for line in listed.splitlines()]
    if os.path.exists(early):
        os.unlink(early)
        take(away)
    run.stdin.write(orders)
    run.stdin.flush()
    for answer in run.stdout:
        if answer == b"commit: ok\\n":
            take(away)
        os.write(1, answer)
        if answer == b"commit: ok\\n":
            break
    else:
        break
    orders = b""
run.stdin.close()
sys.exit(run.wait())
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
    (folder / "git").write_text(PRUNES.format(git=shutil.which("git"), python=sys.executable))
    (folder / "git").chmod(0o755)
    if early:
        (folder / "git.early").touch()
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
