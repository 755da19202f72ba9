"""A disk that is almost full: a commit goes through, and what could not be finished is removed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stress.unfinished import unfinished
from tests.support import warm
from tests.support.harness import World
from tests.support.screens import ALL_WELL

DISK, LARGE = 20 << 20, 3 << 20  # of more than a MiB, which is streamed
LEFT = [LARGE * 5 // 8, LARGE + (1 << 20), LARGE + (64 << 10), LARGE + (16 << 10), 64 << 10]
# Where the disk is full before the file, in its midst, at its end.
TIGHT = [("agent", left) for left in LEFT]
TIGHT += [(who, left) for who in ("person", "call") for left in LEFT[::3]]


@pytest.fixture
def disk(tmp_path: Path, ground: Path) -> Iterator[World]:
    """A world whose repository is on a disk of its own, of DISK bytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no leave to mount a small disk")
    world = World(Path(shutil.copytree(ground, place / "repo")), tmp_path / "home")
    yield world
    world.close()
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(world: World, left: int) -> Path:
    """Leave so many bytes of the disk; what takes the others."""
    ballast = world.path.parent / "ballast"
    ballast.unlink(missing_ok=True)
    with ballast.open("wb") as f:
        f.write(bytes(shutil.disk_usage(world.path).free - left))
    return ballast


@pytest.mark.parametrize(("who", "left"), TIGHT)
def test_a_commit_is_made_beside_an_untracked_file_that_has_no_room(
    disk: World, who: str, left: int
) -> None:
    agent = disk.agent("session-a", tools=True)
    agent.turn("write", {"a.py": "a\n", "large": "before\n"})
    agent.prompt("go on")
    agent.write("b.py", "b\n")
    call: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_use_id": "toolu_make",
    }
    if who == "call":
        agent.event("PreToolUse", **call)
    (disk.path / "large").write_bytes(os.urandom(LARGE))
    disk.git("add", "a.py", "b.py")
    ballast = fill(disk, left)
    env = {**os.environ, **disk.env}
    if who != "person":
        env |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": agent.sid}
    argv = ["git", "commit", "-q", "-m", "some"]
    done = subprocess.run(argv, cwd=disk.path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert not unfinished(disk), done
    ballast.unlink()
    if who == "call":
        agent.event("PostToolUse", **call, tool_response={})
    agent.stop()
    disk.git("fsck", "--strict")
    assert disk.ids("HEAD") or disk.git("notes", "--ref=gitcp", "list")


def test_doctor_says_that_the_disk_is_full(disk: World) -> None:
    disk.agent("session-a").start()
    ballast = fill(disk, 0)
    done = warm.run("doctor", cwd=disk.path)
    assert done.returncode == 1, done
    assert "so nothing is recorded: No space left on device" in done.stdout
    assert "make room" in done.stdout and done.stdout.count("! ") == 1, done
    ballast.unlink()
    assert warm.run("doctor", cwd=disk.path).stdout == ALL_WELL


def test_what_needs_room_names_the_disk_that_is_full(disk: World) -> None:
    agent = disk.agent("session-a", tools=True)
    agent.turn("write", {"a.py": "a\n"})
    disk.write("a.py", "b\n")
    ballast = fill(disk, 0)
    for command in ("rewind --force --to toolu_1", "diff toolu_1"):
        done = warm.run(*command.split(), cwd=disk.path)
        assert (done.returncode, done.stdout) == (128, ""), done
        want = f"fatal: the disk of '{disk.path}' is full: make room, and run this again\n"
        assert done.stderr == want
    assert "so nothing is recorded" in warm.run("doctor", cwd=disk.path).stdout
    ballast.unlink()


def test_a_stop_that_has_no_room_leaves_nothing_and_the_next_has_all_of_it(disk: World) -> None:
    agent = disk.agent("session-a", tools=True)
    agent.prompt("write")
    agent.write("a.py", "a\n")
    (disk.path / "large").write_bytes(os.urandom(LARGE))
    ballast = fill(disk, LARGE // 2)
    before = shutil.disk_usage(disk.path).free
    agent.stop(warns="No space left")
    assert not unfinished(disk)
    assert before - shutil.disk_usage(disk.path).free < 1 << 20
    ballast.unlink()
    agent.stop()
    assert disk.show(disk.branch(), "a.py") == "a\n"
    disk.git("fsck", "--strict")
