"""list-, read-, merge-checkpoints, write-committed, find-commits on a real repository."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import Error, InputError, UsageError
from gitcp.git.refs import MEMORY
from tests.support.checkpoints import V1, blob, git, tree, unbundle
from tests.support.paths import BIN
from tests.support.stages import bind_stage

A, B = "a1b2c3d4e5f6", "a1ffffffffff"


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    unbundle("v1-four", tmp_path / "four")
    monkeypatch.chdir(tmp_path / "four")
    return tmp_path / "four"


def shell(line: str) -> tuple[int, bytes, str]:
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", line], env=env, stdin=subprocess.DEVNULL, capture_output=True
    )
    return done.returncode, done.stdout, done.stderr.decode()


def write(*records: dict[str, Any]) -> list[dict[str, Any]]:
    given = [{"type": "session", "checkpoint_id": A, "session_id": "s", **r} for r in records]
    return list(bind_stage("write-committed", [])(given))


def test_a_listing_can_be_narrowed_to_a_session(four: Path) -> None:
    assert len(list(bind_stage("list-checkpoints", [])(()))) == 5
    [found] = bind_stage("list-checkpoints", ["--session=000000d2"])(())
    assert found["checkpoint_id"] == "d59fd7b6fd9a"
    assert found["files_touched"] == ["left.txt", "right.txt", "single.txt"]


def test_a_checkpoint_is_read_with_its_sessions(four: Path) -> None:
    first, *sessions = bind_stage("read-checkpoint", ["d59"])(())
    assert (first["type"], first["checkpoint_id"]) == ("checkpoint", "d59fd7b6fd9a")
    assert first["summary"]["checkpoints_count"] == 3
    assert [s["index"] for s in sessions] == [0, 1, 2]
    assert sessions[0]["prompts"] == ["Make single", "Also single again"]
    assert {s["hash"] for s in sessions} == {"match"}


@pytest.mark.parametrize("which", ["2", "000000d2-1111-4222-8333-444444444444"])
def test_one_session_is_read_by_number_or_id(four: Path, which: str) -> None:
    _, found = bind_stage("read-checkpoint", ["d59", "--session", which])(())
    assert found["prompts"] == ["Right"]


def test_the_checkpoints_of_a_commit_are_read_and_the_commit_found_again(four: Path) -> None:
    commit = git("rev-parse", "refs/heads/main")
    checkpoint, *_ = bind_stage("read-checkpoint", ["--commit=refs/heads/main"])(())
    assert [c["oid"] for c in bind_stage("find-commits", [])([checkpoint])] == [commit]
    with pytest.raises(Error, match="no checkpoint belongs to 'refs/heads/main~2'"):
        list(bind_stage("read-checkpoint", ["-c", "refs/heads/main~2"])(()))


def test_the_transcript_is_written_byte_for_byte(four: Path) -> None:
    status, out, _ = shell("gitcp-read-checkpoint --transcript -s 1 d59fd7b6fd9a")
    assert status == 0
    assert out == blob(f"{V1}:d5/9fd7b6fd9a/1/full.jsonl")


def test_lists_end_in_nul_on_demand(four: Path) -> None:
    _, out, _ = shell("gitcp-list-checkpoints -z")
    assert len(out.split(b"\0")[:-1]) == 5
    _, found, _ = shell("gitcp-list-checkpoints | gitcp-find-commits -z")
    commits = [oid.decode() for oid in found.split(b"\0")[:-1]]
    assert len(commits) == 5
    assert all("Entire-Checkpoint: " in git("log", "-1", "--format=%B", oid) for oid in commits)


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("gitcp-read-checkpoint ffff", 128, "fatal: no such checkpoint: 'ffff'\n"),
        ("gitcp-read-checkpoint zz", 128, "fatal: not a checkpoint id: 'zz'\n"),
        ("gitcp-find-commits -- --all", 128, "fatal: not a checkpoint id: '--all'\n"),
        ("gitcp-merge-checkpoints main nowhere", 128, "fatal: not a commit: 'nowhere'\n"),
        ("gitcp-find-commits 000000000000", 128, "fatal: no such checkpoint: '000000000000'\n"),
    ],
)
def test_what_cannot_be_done_is_one_line(four: Path, line: str, status: int, says: str) -> None:
    found, _, err = shell(line)
    assert (found, err) == (status, says)


def test_reading_needs_something_to_read(repo: Path) -> None:
    with pytest.raises(UsageError, match="needs the id of a checkpoint, or --commit"):
        list(bind_stage("read-checkpoint", [])(()))
    assert list(bind_stage("list-checkpoints", [])(())) == []


def test_a_line_of_its_own_counts_for_reading_wherever_it_stands(repo: Path) -> None:
    write({})
    git("commit", "-q", "--allow-empty", "-m", "x", "-m", f"Entire-Checkpoint: {A}", "-m", "end")
    git("tag", "buried")
    git("commit", "-q", "--allow-empty", "-m", f"not 'Entire-Checkpoint: {A}' in a sentence")
    git("commit", "-q", "--allow-empty", "-m", "y", "-m", f"Entire-Checkpoint: {A}")
    git("tag", "kept")
    git("reset", "-q", "--hard", "HEAD~3")
    commits = {c["oid"] for c in bind_stage("find-commits", ["a1b2"])(())}
    assert commits == {git("rev-parse", "kept"), git("rev-parse", "buried")}


def test_records_become_one_checkpoint_commit(repo: Path, tmp_path: Path) -> None:
    live = tmp_path / "t.jsonl"
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    live.write_text(f'{{"text":"token {secret}"}}\n')
    [made] = write(
        {"prompts": [f"use {secret}"], "transcript_path": str(live), "files_touched": ["b"]},
        {"session_id": "t", "transcript": "{}\n", "metadata": {"branch": "b", "odd": 1}},
        {"session_id": "t", "checkpoint_id": B},
    )
    assert (made["oid"], made["checkpoint_ids"]) == (git("rev-parse", V1), [A, B])
    checkpoint, first, second = bind_stage("read-checkpoint", [A])(())
    assert checkpoint["files_touched"] == ["b"]
    assert first["prompts"] == ["use REDACTED"]
    assert second["metadata"]["odd"] == 1
    assert secret not in git("grep", "-a", "-h", ".", V1)


def test_records_without_an_id_share_a_new_one(repo: Path) -> None:
    records = [{"type": "session", "session_id": s} for s in ("s", "t")]
    [made] = bind_stage("write-committed", ["-m", "a subject\nof two lines"])(records)
    assert re.fullmatch("[0-9a-f]{12}", *made["checkpoint_ids"])
    assert git("log", "-1", "--format=%s", V1) == "a subject of two lines"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"session_id": 7}, "a record of type 'session' needs 'session_id'"),
        ({"session_id": "../x"}, "'session_id' "),
        ({"checkpoint_id": "x"}, "'checkpoint_id' is neither 12 hex digits nor a ULID"),
        ({"metadata": []}, "'metadata' is not an object"),
        ({"prompts": "x"}, "'prompts' is not a list of texts"),
        ({"transcript_path": "/nowhere"}, "cannot read '/nowhere'"),
    ],
)
def test_a_record_that_is_not_right_writes_nothing(
    repo: Path, record: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        write({}, record)
    assert git("for-each-ref", V1) == ""


def test_without_session_records_nothing_is_written(repo: Path) -> None:
    assert list(bind_stage("write-committed", [])([{"type": "change", "path": "x"}])) == []


def test_a_merge_has_both_and_moves_no_ref(repo: Path) -> None:
    git("update-ref", "refs/heads/one", write({})[0]["oid"])
    for ref in (V1, MEMORY):  # a deletion that is agreed to
        git("update-ref", "-d", ref)
    git("update-ref", "refs/heads/two", write({"checkpoint_id": B})[0]["oid"])
    before = git("for-each-ref")
    [made] = bind_stage("merge-checkpoints", ["one", "two"])(())
    assert git("for-each-ref") == before
    assert {p[:13] for p in tree(made["oid"])} == {"a1/b2c3d4e5f6", "a1/ffffffffff"}
    assert made["parents"] == [git("rev-parse", "one"), git("rev-parse", "two")]
    [again] = bind_stage("merge-checkpoints", [made["oid"], "one"])(())
    assert again["oid"] == made["oid"]
