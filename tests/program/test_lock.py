"""Locks: one holder at a time, in this process and beside filelock's own."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import filelock
import pytest

from gitcp import git
from gitcp.errors import Busy
from gitcp.git import files
from gitcp.git.files import exclusive
from gitcp.git.repo import Repo
from gitcp.record.session import others

HOLD = "import sys, filelock; x = filelock.FileLock(sys.argv[1]); x.acquire(); print(); input()"


@pytest.fixture
def here(repo: Path) -> Repo:
    return Repo.find()


def test_a_lock_is_free_again_after_its_block(here: Repo) -> None:
    for _ in range(2):
        with exclusive(here, "v1", timeout=0.0):
            pass


def test_a_lock_that_is_held_is_busy_and_named(here: Repo) -> None:
    with exclusive(here, "v1"), pytest.raises(Busy, match="'v1' is locked"):
        exclusive(here, "v1", timeout=0.0).__enter__()


@pytest.mark.parametrize(("first", "waits"), [(0.0, True), (0.01, False)])
def test_who_waited_in_vain_does_not_wait_again_but_who_only_looked_does(
    here: Repo, monkeypatch: pytest.MonkeyPatch, first: float, waits: bool
) -> None:
    monkeypatch.setattr(git, "_limits", {})
    monkeypatch.setattr(files, "_GIVEN_UP", {})
    git.begin_deadline()
    held = exclusive(here, "v1")
    held.__enter__()
    with pytest.raises(Busy):
        exclusive(here, "v1", first).__enter__()
    timer = threading.Timer(0.1, held.__exit__)
    timer.start()
    try:
        with exclusive(here, "v1", 20.0):
            assert waits
    except Busy:
        assert not waits
    timer.join()


def test_another_name_is_another_lock(here: Repo) -> None:
    with exclusive(here, "v1"), exclusive(here, "notes", timeout=0.0):
        pass


def test_filelock_in_another_process_is_waited_for(here: Repo) -> None:
    with exclusive(here, "v1"):
        pass  # makes the folder
    argv = [sys.executable, "-u", "-c", HOLD, here.join_shared("lock", "v1")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdin
        assert holder.stdout.readline() == b"\n"
        with pytest.raises(Busy):
            exclusive(here, "v1", timeout=0.0).__enter__()
        holder.stdin.write(b"\n")
        holder.stdin.flush()
        with exclusive(here, "v1"):
            pass


def test_filelock_waits_for_us(here: Repo) -> None:
    with exclusive(here, "v1"), pytest.raises(filelock.Timeout):
        filelock.FileLock(here.join_shared("lock", "v1"), timeout=0).acquire()


def test_a_lock_file_that_was_replaced_is_not_held(here: Repo) -> None:
    path = Path(here.join_shared("lock", "v1"))
    with exclusive(here, "v1"):
        path.unlink()
        with exclusive(here, "v1", timeout=0.0):
            assert path.exists()


def test_a_link_in_its_place_is_not_followed(here: Repo) -> None:
    path = Path(here.join_shared("lock", "v1"))
    path.parent.mkdir(parents=True)
    path.symlink_to("/etc/passwd")
    with exclusive(here, "v1"):
        assert path.is_file() and not path.is_symlink()


def test_the_locks_of_sessions_are_let_go_when_one_is_busy(here: Repo) -> None:
    busy = exclusive(here, "session-b")
    busy.__enter__()
    several = others.held_state(here, ["c", "a", "b", "a"])
    for held in several._all:
        held._timeout = 0.0
    with pytest.raises(Busy, match="'session-b'"):
        several.__enter__()
    with exclusive(here, "session-a", timeout=0.0):
        busy.__exit__()
    with several:
        pass
