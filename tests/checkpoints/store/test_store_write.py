"""Writing committed checkpoints: layout, indexes, messages, and what must survive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.checkpoints import writing
from gitcp.checkpoints.stored import read_checkpoint, read_session
from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.checkpoints import V1, blob, git, keep, line, session, tree, unbundle
from tests.support.paths import TOP

A, B = "a1b2c3d4e5f6", "a1ffffffffff"


@pytest.fixture
def live(tmp_path: Path) -> Path:
    path = tmp_path / "live.jsonl"
    path.write_bytes(b"".join(line(n) for n in range(20)) + b'{"password": "hunter2"}\n')
    return path


def test_a_checkpoint_has_the_layout_of_the_original(repo: Path, live: Path) -> None:
    r = Repo.find()
    with Objects(r):
        stored = keep(r, "s1", live)
        data = session("s1", stored, files_touched=["b", "a"], created_at="2026-01-01T00:00:00Z")
        data["ephemeral_branch"] = "entire/1234567-e3b0c4"
        data["tasks"] = {"toolu_1/checkpoint.json": b"{}"}
        tip = writing.write_sessions(r, [(A, data)])[V1]
    assert git("rev-parse", V1) == tip
    at = "a1/b2c3d4e5f6"
    assert sorted(tree()) == [
        f"{at}/0/content_hash.txt",
        f"{at}/0/context.md",
        f"{at}/0/full.jsonl",
        f"{at}/0/metadata.json",
        f"{at}/0/prompt.txt",
        f"{at}/metadata.json",
        f"{at}/tasks/toolu_1/checkpoint.json",
    ]
    assert blob(f"{V1}:{at}/0/full.jsonl") == live.read_bytes().replace(b"hunter2", b"REDACTED")
    assert blob(f"{V1}:{at}/0/prompt.txt") == b"do it, s1"
    root = json.loads(blob(f"{V1}:{at}/metadata.json"))
    assert root["sessions"][0]["transcript"] == f"/{at}/0/full.jsonl"
    assert root["files_touched"] == ["a", "b"]
    assert git("log", "-1", "--format=%B", V1).split("\n") == [
        f"Checkpoint: {A}",
        "",
        "Entire-Session: s1",
        "Entire-Strategy: manual-commit",
        "Entire-Agent: Claude Code",
        "Ephemeral-branch: entire/1234567-e3b0c4",
    ]
    assert git("log", "--format=%P", V1) == ""
    assert git("fsck", "--strict", "--no-dangling") == ""


def test_no_secret_reaches_the_object_database(repo: Path, live: Path) -> None:
    r = Repo.find()
    with Objects(r):
        writing.write_sessions(r, [(A, session("s1", keep(r, "s1", live)))])
    every = git("cat-file", "--batch-all-objects", "--batch")
    assert "REDACTED" in every
    assert "hunter2" not in every


def test_several_sessions_and_checkpoints_are_one_commit(repo: Path) -> None:
    r = Repo.find()
    with Objects(r):
        items = [(A, session("s1")), (A, session("s2")), (B, session("s2"))]
        writing.write_sessions(r, items)
    assert git("rev-list", "--count", V1) == "1"
    message = git("log", "-1", "--format=%B", V1)
    assert message.startswith(f"Checkpoint: {A}\n\nCheckpoint: {B}\n\n")
    assert message.count("Entire-Session: ") == 2
    root = json.loads(blob(f"{V1}:a1/b2c3d4e5f6/metadata.json"))
    assert root["checkpoints_count"] == 2
    assert [s["prompt"] for s in root["sessions"]] == [
        f"/a1/b2c3d4e5f6/{n}/prompt.txt" for n in (0, 1)
    ]


def test_the_same_session_keeps_its_index_and_a_new_one_takes_the_next(repo: Path) -> None:
    r = Repo.find()
    with Objects(r):
        for sid in ("s1", "s2", "s1", "s3", "s2"):
            writing.write_sessions(r, [(A, session(sid, turn_id=sid * 2))])
        found = read_checkpoint(r, A)
    assert [(s["directory"], s["session_id"]) for s in found["sessions"]] == [
        ("0", "s1"),
        ("1", "s2"),
        ("2", "s3"),
    ]


def test_finalizing_replaces_the_transcript_and_keeps_the_rest(repo: Path, live: Path) -> None:
    r = Repo.find()
    with Objects(r):
        writing.write_sessions(r, [(A, session("s1", keep(r, "s1", live)))])
        before = read_session(r.objects, read_checkpoint(r, A), 0)
        live.write_bytes(live.read_bytes() + line(99))
        stored = keep(r, "s1", live)
        subject = f"Finalize transcript for Checkpoint: {A}"
        writing.write_sessions(
            r, [(A, {"session_id": "s1", "transcript": stored})], subject=subject
        )
        after = read_session(r.objects, read_checkpoint(r, A), 0)
    assert after.transcript == before.transcript + line(99)
    assert after.hash == "match"
    assert after.prompts == before.prompts
    assert after.metadata == before.metadata
    assert git("log", "-1", "--format=%s", V1) == subject


def test_a_write_that_changes_nothing_makes_no_commit(repo: Path) -> None:
    r = Repo.find()
    with Objects(r):
        tips = {writing.write_sessions(r, [(A, session("s1"))])[V1] for _ in range(3)}
    assert len(tips) == 1


def test_unknown_keys_survive_writing_into_a_checkpoint_of_the_original(tmp_path: Path) -> None:
    r = unbundle("v1-sample", tmp_path / "r")
    with Objects(r):
        writing.write_sessions(r, [("bde5096363d6", session("new"))])
        found = read_checkpoint(r, "bde5096363d6")
    assert found["summary"]["migration_source_commit"].startswith("363954ea")
    assert any("agents" in s["metadata"] for s in found["sessions"])
    # The original reads by array index: a gap is closed as soon as we write.
    assert [s["directory"] for s in found["sessions"]] == ["0", "1", "2"]
    listed = [s["metadata"] for s in found["summary"]["sessions"]]
    assert listed == [f"/bd/e5096363d6/{n}/metadata.json" for n in range(3)]


def test_closing_a_gap_leaves_no_directory_behind(tmp_path: Path) -> None:
    r = unbundle("v1-sample", tmp_path / "r")
    with Objects(r):
        before = read_checkpoint(r, "ec38b74f08e3")["sessions"]
        last = before[-1]["session_id"]
        writing.write_sessions(r, [("ec38b74f08e3", {"session_id": last, "metadata": {"x": 1}})])
        after = read_checkpoint(r, "ec38b74f08e3")["sessions"]
    assert [s["directory"] for s in before] == ["0", "2", "3"]
    assert [s["directory"] for s in after] == ["0", "1", "2"]
    assert [s["session_id"] for s in after] == [s["session_id"] for s in before]


def test_all_other_checkpoints_stay_as_they_are(tmp_path: Path) -> None:
    r = unbundle("v1-sample", tmp_path / "r")
    before = tree(cwd=r.top)
    with Objects(r):
        writing.write_sessions(r, [(A, session("s1"))])
    after = tree(cwd=r.top)
    assert {p: o for p, o in after.items() if not p.startswith("a1/")} == before


def test_the_branch_goes_on_from_a_remotes(tmp_path: Path) -> None:
    r = unbundle("v1-four", tmp_path / "r", "refs/heads/*:refs/remotes/origin/*")
    with Objects(r):
        writing.write_sessions(r, [(A, session("s1"))])
    remote = git("rev-parse", "refs/remotes/origin/entire/checkpoints/v1", cwd=r.top)
    assert git("rev-parse", f"{V1}^", cwd=r.top) == remote


def test_the_markers_stand_before_the_branch_moves(repo: Path) -> None:
    (repo / ".git/refs/heads").chmod(0o500)
    r = Repo.find()
    if os.access(repo / ".git/refs/heads", os.W_OK):
        git("update-ref", "refs/heads/entire", "HEAD")  # a branch in the way does it for root
    with Objects(r), pytest.raises(Error):
        writing.write_sessions(r, [(A, session("s1"))])
    assert (repo / ".git/gitcp/unpushed").exists()
    assert (repo / ".git/gitcp/linked").exists()


@pytest.mark.parametrize(
    ("cid", "sid", "task"),
    [
        ("../../../etc", "s", "t/x"),
        ("A1B2C3D4E5F6", "s", "t/x"),
        (A, "../s", "t/x"),
        (A, "s", "../../0/metadata.json"),
        (A, "s", "/x"),
    ],
)
def test_names_that_are_not_safe_write_nothing(repo: Path, cid: str, sid: str, task: str) -> None:
    r = Repo.find()
    with Objects(r), pytest.raises(Error):
        writing.write_sessions(r, [(cid, {"session_id": sid, "tasks": {task: b""}})])
    assert git("for-each-ref", "refs/heads/entire") == ""


def test_a_sha256_repository_holds_checkpoints(tmp_path: Path, live: Path) -> None:
    git("init", "-q", "--object-format=sha256", str(tmp_path / "r"))
    r = Repo.find(str(tmp_path / "r"))
    with Objects(r):
        writing.write_sessions(r, [(A, session("s1", keep(r, "s1", live)))])
        writing.write_sessions(r, [(A, session("s2"))])
        assert len(read_checkpoint(r, A)["sessions"]) == 2
    assert git("fsck", "--strict", "--no-dangling", cwd=r.top) == ""


def test_writers_at_the_same_time_lose_nothing(repo: Path) -> None:
    code = (
        "import sys; from gitcp.git.repo import Repo; from gitcp.git.objects import Objects\n"
        "from gitcp.checkpoints import writing as committed_write; r = Repo.find()\n"
        "with Objects(r):\n"
        "    for n in range(5):\n"
        "        cid = '%012x' % (int(sys.argv[1]) * 16 + n)\n"
        "        committed_write.write_sessions(r, [(cid, {'session_id': 's' + sys.argv[1]})])\n"
    )
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    argv = [sys.executable, "-c", code]
    running = [subprocess.Popen([*argv, str(n)], env=env) for n in range(4)]
    assert [p.wait() for p in running] == [0] * 4
    assert git("rev-list", "--count", V1) == "20"
    assert len([p for p in tree() if p.count("/") == 2]) == 20
