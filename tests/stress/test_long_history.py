"""A long history is read by several processes: whoever stops them leaves none of them behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bench import history
from tests.support.paths import BIN

COMMITS = 900


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "CACHE", tmp_path_factory.mktemp("long"))
        return history.linked(COMMITS, 20)


def started(at: Path, *argv: str) -> subprocess.Popen[bytes]:
    """A command of ours in a session of its own."""
    words = [sys.executable, str(BIN / f"gitcp-{argv[0]}"), *argv[1:]]
    return subprocess.Popen(words, cwd=at, stdout=subprocess.PIPE, start_new_session=True)


def left(group: int) -> bool:
    """Whether any process of the group is at work after a while."""
    for _ in range(200):
        if not at_work(group):
            return False
        time.sleep(0.05)
    return True


def at_work(group: int) -> bool:
    """Whether one runs: one that has ended, and that nobody has asked about yet, does not."""
    if not os.path.exists("/proc/self/stat"):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its = file.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(its) == group and state != "Z":
                return True
    return False


def test_every_commit_is_told_in_order_with_who_was_behind_it(long: Path) -> None:
    process = started(long, "log")
    lines = process.communicate()[0].decode().splitlines()
    assert process.returncode == 0
    told = [line.rsplit("  ", 1)[1] for line in lines]
    assert told[::2] == [f"Change {n}" for n in reversed(range(COMMITS))]
    assert told[1::2] == [f"> Please do change {n}" for n in reversed(range(COMMITS))]
    assert not left(process.pid)


def test_the_sums_count_every_commit_and_line_once(long: Path) -> None:
    process = started(long, "stats", "--json", "--survival")
    record = json.loads(process.communicate()[0])
    assert (record["commits"], record["linked"], record["checkpoints"]) == (COMMITS,) * 3
    assert record["added"] == {
        "agent": COMMITS * history.LINES,
        "person": 0,
        "unknown": 0,
        "unrecorded": 0,
    }
    assert len(record["sessions"]) == COMMITS // history.SESSION
    assert not left(process.pid)


def test_every_checkpoint_and_link_is_checked(long: Path) -> None:
    """One that is damaged among many is found, whoever came upon it."""
    names = [history.checkpoint_id(n) for n in (3, COMMITS // 2, COMMITS - 2)]
    at = [f"{name[:2]}/{name[2:]}/0/content_hash.txt" for name in names]
    wrong = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=long, input=b"sha256:0", capture_output=True
    ).stdout.decode()
    index = {**os.environ, "GIT_INDEX_FILE": str(long / "index-of-damage")}

    def git(*argv: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["git", *argv], cwd=long, env=index, input=stdin, text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    before = git("rev-parse", history.V1)
    git("read-tree", history.V1)
    git("update-index", "--index-info", stdin="".join(f"100644 {wrong[:40]}\t{p}\n" for p in at))
    commit = git("commit-tree", "-p", before, "-m", "damage", git("write-tree"))
    git("update-ref", history.V1, commit)
    try:
        process = started(long, "fsck", "--json")
        findings = [json.loads(line) for line in process.communicate()[0].splitlines()]
    finally:
        git("update-ref", history.V1, before)
    assert process.returncode == 1
    bad = {f["subject"] for f in findings if f["kind"] == "bad-hash"}
    assert bad == {f"{name}/0" for name in names}
    assert not left(process.pid)


@pytest.mark.parametrize(
    ("command", "sign"),
    [("log", signal.SIGKILL), ("log", signal.SIGINT), ("stats", signal.SIGTERM)],
)
def test_who_ends_a_command_ends_all_of_it(long: Path, command: str, sign: signal.Signals) -> None:
    process = started(long, command)
    assert process.stdout
    if command == "log":
        for _ in range(COMMITS):
            process.stdout.readline()  # the workers are at it
    else:
        time.sleep(0.3)
    os.kill(process.pid, sign)  # it alone: the others have to see that nobody waits
    process.stdout.close()
    process.wait()
    assert not left(process.pid)


def test_a_reader_that_has_seen_enough_ends_all_of_it(long: Path) -> None:
    process = started(long, "log")
    assert process.stdout
    for _ in range(COMMITS):
        process.stdout.readline()
    process.stdout.close()
    assert process.wait() in (0, -signal.SIGPIPE)
    assert not left(process.pid)
