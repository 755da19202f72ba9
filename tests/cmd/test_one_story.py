"""What show tells of a commit is what log, stats, page and blame tell of its lines."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.support.harness import World
from tests.support.warm import run

CODE = "def first(a,b):\n    return a\n"
Wrote = dict[int, dict[str, int]]  # number of a prompt -> path -> added lines


def read(world: World, *argv: str) -> list[dict[str, Any]]:
    done = run(argv[0], "--json", *argv[1:], cwd=world.path)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def stories(world: World) -> dict[str, str]:
    """subject -> oid of commits that tell what git does to the lines of one session."""
    agent = world.agent("session-a", tools=True)
    agent.turn("write mod", {"mod.py": CODE})
    world.commit("mod.py")
    world.write("mod.py", CODE.replace("a,b", "a, b"))
    world.git("commit", "-qam", "reformat")
    agent.turn("add h", {"h.py": "h\n"})
    world.commit("h.py")
    agent.turn("add k", {"k.py": "k\n"})
    world.commit("k.py")
    world.git("reset", "-q", "--soft", "HEAD~2")
    world.git("commit", "-qm", "squash")
    agent.turn("write two", {"big.txt": "1\n2\n3\n", "small.txt": "small\n"})
    world.commit("big.txt", "small.txt")
    world.git("reset", "-q", "HEAD^")
    for path in ("small.txt", "big.txt"):
        world.git("add", path)
        world.git("commit", "-qm", path)
    agent.prompt("write x and commit")
    agent.write("x.py", "one\ntwo\n")
    world.git("add", "x.py")
    world.git("commit", "-qm", "early")
    agent.write("x.py", "uno\ntwo\n")
    agent.stop()
    world.git("checkout", "-q", "x.py")
    agent.turn("drop k", {"k.py": None})
    world.git("commit", "-qam", "drop")
    world.write("mine.txt", "mine\n")
    world.git("add", "mine.txt")
    world.git("commit", "-qm", "mine")
    rows = world.git("log", "--format=%s %H", "HEAD").splitlines()
    return dict(row.rsplit(" ", 1) for row in rows)


TOLD = {  # subject -> what its prompts wrote there
    "commit mod.py": {1: {"mod.py": 2}},
    "reformat": {1: {"mod.py": 1}},
    "squash": {2: {"h.py": 1}, 3: {"k.py": 1}},
    "small.txt": {4: {"small.txt": 1}},
    "big.txt": {4: {"big.txt": 3}},
    "early": {5: {"x.py": 2}},
    "drop": {6: {}},
}


def test_a_commit_has_one_story(world: World, stories: dict[str, str]) -> None:
    logged = {record["oid"]: record for record in read(world, "log")}
    names = {oid: subject for subject, oid in stories.items()}
    (page,) = read(world, "page", f"{stories['commit mod.py']}^..")
    for paged in page["commits"]:
        subject = names[paged["oid"]]
        records = read(world, "show", paged["oid"])
        assert len(records) == {"mine": 0, "squash": 2}.get(subject, 1)
        if not records:
            continue
        shown = records[-1]
        (commit,) = shown["commits"]
        (session,) = shown["contents"]
        wrote = {turn["number"]: turn["files"] for turn in session["wrote"]}
        assert wrote == TOLD[subject], subject
        assert wrote == blame_prompts(world, paged["oid"], commit["files"]), subject
        added = Counter[str]()
        for authors in commit["files"].values():
            added.update(authors)
        assert paged["added"] == added, subject
        (stats,) = read(world, "stats", "-n", "1", paged["oid"])
        assert stats["added"] == commit["lines"]["added"], subject
        if shown["linked"]:
            assert logged[paged["oid"]]["lines"] == commit["lines"], subject
        else:
            assert subject == "reformat"
        text = world.gitcp("show", paged["oid"])
        assert text.startswith(f"{paged['oid'][:8]}  ") and text.count("\nlines: ") <= 1
        rows = [line.split() for line in text.splitlines() if line.startswith("    wrote ")]
        expected = Counter[str]()
        for files in wrote.values():
            expected.update({f"{path} +{count}": 1 for path, count in files.items()})
        told = Counter(" ".join(row[1:]) for row in rows if "other" not in row)
        assert told == expected, text
    assert "    deleted k.py\n" in world.gitcp("show", stories["drop"])
    split = world.gitcp("show", stories["small.txt"])
    assert "    wrote   1 other file\n" in split and "big.txt" not in split


def blame_prompts(world: World, oid: str, paths: dict[str, object]) -> Wrote:
    """What git blame gives to prompts, of the lines that a commit added."""
    found: Wrote = {}
    for path in paths:
        if run("blame", oid, "--", path, cwd=world.path).returncode:
            continue  # it was deleted
        for line in read(world, "blame", oid, "--", path):
            if line["commit"] == oid and line["who"] == "session":
                files = found.setdefault(line["number"], {})
                files[path] = files.get(path, 0) + 1
    return found or {6: {}}
