"""Repositories under auto-commit: hooks of the person's, and what must always hold."""

from __future__ import annotations

from tests.support.harness import World
from tests.support.linking import noted, stored


def hook(world: World, name: str, script: str) -> None:
    """Put a hook of the person's before what gitcp installed under that name."""
    path = world.path / ".git" / "hooks" / name
    old = path.read_text().partition("\n")[2] if path.exists() else ""
    path.parent.mkdir(exist_ok=True)
    # In a shell of its own: what it sets and where it ends is its own affair.
    path.write_text(f"#!/bin/sh\n(\n{script}\n) || exit $?\n{old}")
    path.chmod(0o755)


def sound(world: World) -> None:
    """No id dangles, nothing is left of a commit that was made, the index is git's to take."""
    commits = world.git("rev-list", "--branches=main", "HEAD").split()
    carried = {one for c in commits for one in [*world.ids(c), *noted(world, c)]}
    assert carried <= stored(world).keys()
    assert list(world.path.glob(".git/gitcp/auto/*")) == []
    assert list(world.path.glob(".git/index*.lock")) == []
    world.git("fsck", "--strict")
