"""Packs of gitcp that a power cut or a bad disk left empty or torn: `gitcp doctor --fix` takes them
away and says what is lost, and git works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.paths import BIN

# What is left of the files of a pack, by the end of their names: as much of each as this.
DAMAGES = {
    "an empty pack": {".pack": 0.0},
    "a torn pack": {".pack": 0.5},
    "an empty pack and index": {".pack": 0.0, ".idx": 0.0},
    "a torn index": {".idx": 0.5},
    "all of it empty": {".pack": 0.0, ".idx": 0.0, ".keep": 0.0},
}


def mend(world: World) -> str:
    """What `gitcp doctor --fix` prints."""
    done = subprocess.run(
        [BIN / "gitcp-doctor", "--fix", "-v"],
        cwd=world.path,
        env={**os.environ, **world.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done
    return done.stdout


def damage(folder: Path, before: set[Path], left: dict[str, float]) -> int:
    """Damage the packs that are there since; how many files."""
    new = [path for path in folder.iterdir() if path not in before and path.suffix in left]
    for path in new:
        data, at = path.read_bytes(), path.stat().st_mtime_ns
        path.chmod(0o644)
        path.write_bytes(data[: int(len(data) * left[path.suffix])])
        os.utime(path, ns=(at, at))
    return len(new)


@pytest.mark.parametrize("damaged", DAMAGES)
@pytest.mark.parametrize("when", ["after a turn", "after a commit"])
def test_doctor_takes_it_away_and_git_works(world: World, damaged: str, when: str) -> None:
    a = world.agent("session-a", tools=True)
    a.start()
    a.turn("first", {"first.txt": "first\n"})
    world.commit()
    folder = world.path / ".git/objects/pack"
    before = {*folder.iterdir()}
    a.turn("second", {"second.txt": "second\n" * 20, "more/third.txt": "third\n" * 20})
    if when == "after a commit":
        world.commit()
    assert damage(folder, before, DAMAGES[damaged])
    said = mend(world)
    assert ("took it away" if ".pack" in DAMAGES[damaged] else "wrote its index again") in said
    for argv in (("status",), ("for-each-ref",), ("gc", "-q"), ("fsck", "--no-dangling")):
        done = subprocess.run(
            ["git", *argv], cwd=world.path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), said
    assert world.git("status", "--porcelain") == (
        "?? more/\n?? second.txt" if "turn" in when else ""
    )
    a.turn("fourth", {"fourth.txt": "fourth\n"})
    assert world.commit()
    assert "took" not in mend(world)


def test_it_says_what_of_the_commit_is_lost_for_good(world: World) -> None:
    a = world.agent("session-a", tools=True)
    a.start()
    folder = world.path / ".git/objects/pack"
    before = {*folder.iterdir()}
    a.turn("second", {"second.txt": "second\n" * 20, "third.txt": "third\n" * 20})
    world.commit()
    world.write("third.txt", "other\n")
    damage(folder, before, {".pack": 0.0})
    assert "of git's objects cannot be opened: 'gitcp doctor --fix'" in world.gitcp("status")
    said = mend(world)
    assert "the commit HEAD lacks objects" in said
    assert "; lost: third.txt;" in said


@pytest.mark.parametrize(
    ("name", "said", "status"),
    [
        (":new.txt", "wrote the object again from the worktree", 0),
        ("HEAD^{tree}", "wrote the object again from the worktree", 0),
        (":old.txt", "is lost", 1),
        ("HEAD:there.txt", "a pack has the object", 0),
    ],
)
def test_an_empty_object_file_is_taken_away(
    world: World, name: str, said: str, status: int
) -> None:
    world.agent("session-a").start()
    for path in ("new.txt", "old.txt", "there.txt"):
        world.write(path, f"{path} by hand\n")
    world.git("add", ".")
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "by hand")
    world.write("old.txt", "changed since\n")
    oid = world.git("rev-parse", name)
    if "there" in name:
        world.git("repack", "-q")
    file = world.path / ".git/objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    file.write_bytes(b"")
    unfinished = file.with_name("tmp_obj_x")
    unfinished.write_bytes(b"")
    assert said in mend(world)
    assert unfinished.exists()
    assert not file.exists() or file.stat().st_size
    done = subprocess.run(["git", "fsck", "--no-dangling"], cwd=world.path, capture_output=True)
    assert bool(done.returncode) == bool(status)
