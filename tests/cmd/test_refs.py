"""list-refs, expire-refs, delete-refs: one pipe, in one process and in several."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitcp.errors import Error, InputError, Moved, UsageError
from gitcp.git import Git
from tests.support.paths import BIN
from tests.support.stages import bind_stage


@pytest.fixture
def git(repo: Path) -> Git:
    git = Git()
    for n in "123":
        git.run("update-ref", f"refs/gitcp/s/{n}", "HEAD")
    return git


def left(git: Git) -> list[bytes]:
    return git.read_records("for-each-ref", "--format=%(refname)", "refs/gitcp", sep=b"\n")


def test_without_a_pattern_the_refs_of_gitcp_are_listed(git: Git) -> None:
    git.run("update-ref", "refs/heads/entire/checkpoints/v1", "HEAD")
    git.run("update-ref", "refs/heads/entirely", "HEAD")
    names = [r["ref"] for r in bind_stage("list-refs", [])(())]
    assert names == [
        *(f"refs/gitcp/s/{n}" for n in "123"),
        "refs/heads/entire/checkpoints/v1",
    ]


def test_a_record_carries_ref_oid_and_time(git: Git) -> None:
    (found,) = bind_stage("list-refs", ["refs/heads/main"])(())
    oid = git.read_line("rev-parse", "main").decode()
    assert found == {"type": "ref", "ref": "refs/heads/main", "oid": oid, "time": 1112354055}


def test_the_pipe_deletes_all_but_the_newest(git: Git) -> None:
    records = bind_stage("expire-refs", ["--keep=1"])(bind_stage("list-refs", ["refs/gitcp/"])(()))
    gone = [r["ref"] for r in bind_stage("delete-refs", [])(records)]
    assert gone == ["refs/gitcp/s/1", "refs/gitcp/s/2"]
    assert left(git) == [b"refs/gitcp/s/3"]


def test_the_same_pipe_works_in_a_shell(git: Git) -> None:
    pipe = "gitcp-list-refs | gitcp expire-refs --keep=2 | gitcp-delete-refs"
    path = f"{BIN}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", pipe], check=True, env={**os.environ, "PATH": path})
    assert left(git) == [b"refs/gitcp/s/2", b"refs/gitcp/s/3"]


def test_a_ref_that_moved_meanwhile_is_kept_and_so_are_the_others(git: Git) -> None:
    records = list(bind_stage("list-refs", ["refs/gitcp/"])(()))
    git.run("update-ref", "refs/gitcp/s/2", "HEAD~1")
    with pytest.raises(Moved, match="'refs/gitcp/s/2' has moved"):
        list(bind_stage("delete-refs", [])(records))
    assert len(left(git)) == 3


@pytest.mark.parametrize("name", ["refs/heads/main", "refs/gitcp/s/1 x", "HEAD", "-d"])
def test_what_is_not_ours_is_refused_and_nothing_is_deleted(git: Git, name: str) -> None:
    oid = git.read_line("rev-parse", "HEAD").decode()
    records = [{"type": "ref", "ref": r, "oid": oid} for r in ("refs/gitcp/s/1", name)]
    with pytest.raises(Error, match="not a temporary ref of gitcp"):
        list(bind_stage("delete-refs", [])(records))
    assert len(left(git)) == 3


@pytest.mark.parametrize("record", [{}, {"ref": 1}, {"ref": "refs/gitcp/s/1", "oid": "-"}])
def test_a_record_without_its_fields_is_an_input_error(git: Git, record: dict[str, object]) -> None:
    for stage in (bind_stage("delete-refs", []), bind_stage("expire-refs", [])):
        with pytest.raises(InputError, match="a record of type 'ref' needs"):
            list(stage([{"type": "ref", **record}]))


def test_records_of_another_type_are_left_alone(git: Git) -> None:
    record = {"type": "session", "ref": "refs/gitcp/s/1"}
    assert (
        list(bind_stage("delete-refs", [])(bind_stage("expire-refs", ["--keep=0"])([record]))) == []
    )
    assert len(left(git)) == 3


@pytest.mark.parametrize("argv", [["--keep=-1"], ["--older-than=-1"], ["--keep=all"], ["x"]])
def test_misuse_is_a_usage_error(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        bind_stage("expire-refs", argv)


def test_the_young_are_not_named(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1112354055 + 30 * 86400)
    records = list(bind_stage("list-refs", ["refs/gitcp/"])(()))
    assert list(bind_stage("expire-refs", ["--keep=0", "--older-than=30"])(records)) == []
    assert len(list(bind_stage("expire-refs", ["--keep=0", "--older-than=29"])(records))) == 3
