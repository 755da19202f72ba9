"""Whatever sessions and a person do, blame names for every line who typed it, or nobody.

Long runs (`LONG=1`) take STEPS steps of each seed, and begin anew where a history grows long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import blame, blame_options
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from tests.model.lines import PERSON, UNKNOWN, Lines
from tests.support.harness import World
from tests.support.paths import BIN

if TYPE_CHECKING:
    from gitcp.lines.blame import BlamedLine

LONG = bool(os.environ.get("LONG"))
SEEDS = range(40) if LONG else range(1)
STEPS = 50 if LONG else 8


def blamed(top: Path, name: str) -> Iterator[BlamedLine]:
    """The records of `gitcp blame --json` of a file, without a process of its own."""
    repo, words = Repo.find(str(top)), blame_options.parse_arguments(["--", name])
    with Objects(repo):
        yield from blame.build_records(
            repo, words, history.start_groups(repo.git, words)(), Evidence(repo)
        )


def check(model: Lines, top: Path, step: str) -> int:
    """Hold every line of every file against the model; how many gaps there are."""
    gaps = 0
    for name in model.list_files():
        if not (top / name).exists():
            continue
        for record in blamed(top, name):
            line = record["content"].strip()
            owner = model.owner.get(line)
            if owner is None:  # of the repository's first commit, or a mark of a conflict
                continue
            named = record["session_id"] or record["who"]
            # What a person amends is recorded by nobody, and what nobody explains is a person's.
            either = {PERSON, UNKNOWN} if owner in (PERSON, UNKNOWN) else set()
            allowed = {owner, *model.also.get(line, ()), *either}
            assert named in allowed, f"{step}: {name}: {allowed}: {record}"
            gaps += named == UNKNOWN != owner
    return gaps


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS)
def test_every_line_is_named_after_who_typed_it(world: World, seed: int) -> None:
    model = Lines(world, seed)
    simple = (model.turn, model.turn, model.person, model.commit, model.part, model.amend)
    rare = (model.again, model.stranger, model.rename, model.reformat, model.stash)
    merging = (model.revert, model.pick, model.merge, model.squash, model.rebase)
    for step in (model.turn, model.clean, model.person, model.clean, model.turn, model.clean):
        step()
    for number in range(STEPS):
        step = model.chance.choice(model.chance.choice((simple, rare, merging)))
        step()
        check(model, world.path, f"seed {seed}, step {number}, {step.__name__}")
    model.clean()
    gone_and_come(model, seed)


def gone_and_come(model: Lines, seed: int) -> None:
    """The same in a fresh clone that has fetched, and where what nothing names is pruned."""
    world = model.world
    model.run("gc", "-q", "--prune=now")
    check(model, world.path, f"seed {seed}, after gc")
    model.run("init", "-q", "--bare", str(world.home / "hub"))
    model.run("remote", "add", "origin", str(world.home / "hub"))
    model.run("config", "gitcp.remote", "origin")
    model.run("push", "-q", "origin", "main")
    clone = world.home / "clone"
    model.run("clone", "-q", "-b", "main", str(world.home / "hub"), str(clone))
    argv = [sys.executable, str(BIN / "gitcp"), "fetch"]
    subprocess.run(argv, cwd=clone, check=True, capture_output=True)
    check(model, clone, f"seed {seed}, in a clone")
    name = model.list_files()[0]
    done = subprocess.run(
        [*argv[:2], "blame", "--json", name], cwd=clone, check=True, capture_output=True
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [*blamed(clone, name)]
