"""list-streams and read-stream: what exists, who is on it, and why."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import Error
from gitcp.git import records
from tests.support.checkpoints import git, unbundle
from tests.support.stages import bind_stage
from tests.support.story import ALPHA, BETA, GAMMA, Story
from tests.support.warm import run

Json = dict[str, Any]


def listed(*argv: str) -> list[Json]:
    return list(bind_stage("list-streams", argv)(()))


def list_kind(kind: str, *argv: str) -> list[Json]:
    return [r for r in listed(*argv) if r["kind"] == kind]


def test_live_and_archived_streams_are_listed_newest_first(story: Story) -> None:
    found = listed()
    assert sorted(r["kind"] for r in found) == ["archived", "live", "live"]
    assert [r["time"] for r in found] == sorted((r["time"] for r in found), reverse=True)
    assert {r["type"] for r in found} == {"stream"}


def test_a_stream_tells_its_ref_base_sessions_files_and_count(story: Story) -> None:
    (main,) = [r for r in list_kind("live") if r["worktree"] == "e3b0c4"]
    assert main["ref"] == "refs/heads/" + story.world.branch()
    assert main["oid"] == git("rev-parse", main["ref"])
    assert main["base_commit"] == story.plain
    assert main["sessions"] == [ALPHA]
    assert main["files"] == ["README.md", "a b.txt"]
    assert main["checkpoints"] == int(git("rev-list", "--count", main["ref"]))


def test_a_stream_says_why_the_last_decision_was_taken(story: Story) -> None:
    (main,) = [r for r in list_kind("live") if r["worktree"] == "e3b0c4"]
    (decision,) = main["decisions"]
    assert decision["session_id"] == ALPHA
    assert decision["verdict"] == "continue"
    assert decision["reason"] == "file overlap detected at prompt start"


def test_the_archived_stream_keeps_what_was_dismissed(story: Story) -> None:
    (old,) = list_kind("archived")
    assert old["ref"].startswith("refs/gitcp/archive/") and old["worktree"] == "e3b0c4"
    assert old["files"] == ["junk.txt"]


def test_only_the_streams_of_one_session_by_the_beginning_of_its_id(story: Story) -> None:
    assert [r["sessions"] for r in listed("--session=2026")] == [[GAMMA]]
    with pytest.raises(Error, match="no such session: 'nobody'"):
        listed("--session=nobody")


def test_a_session_without_a_checkpoint_is_on_no_stream(story: Story) -> None:
    with pytest.raises(Error, match="no such session"):
        listed(f"--session={BETA}")


def test_an_ambiguous_session_lists_its_candidates(tmp_path: Path, repo: Path) -> None:
    unbundle("phases", tmp_path / "phases")
    done = run("list-streams", "--session=0000", cwd=tmp_path / "phases")
    assert done.returncode == 128 and done.stdout == ""
    assert "ambiguous session '0000': 000000a1" in done.stderr


@pytest.mark.parametrize(
    ("name", "kind", "worktree"),
    [
        ("refs/heads/entire/1234567-e3b0c4", "live", "e3b0c4"),
        ("refs/heads/entire/1234567-e3b0c4-2", "suffix", "e3b0c4"),
        ("refs/heads/entire/1234567", "live", ""),
        ("refs/heads/entire/1234567-3", "suffix", ""),
        ("refs/gitcp/archive/1234567-cc9ec4/7", "archived", "cc9ec4"),
        ("refs/gitcp/archive/1234567-cc9ec4-2/1", "archived", "cc9ec4"),
    ],
)
def test_kind_and_worktree_are_told_by_the_ref(name: str, kind: str, worktree: str) -> None:
    from gitcp.record.stream import stream_list

    assert stream_list.parse_ref(name) == stream_list.StreamName(kind, worktree)


def test_a_branch_of_the_persons_with_such_a_name_is_none(repo: Path) -> None:
    git("branch", "entire/1234567-e3b0c4")
    assert listed() == []


def test_streams_of_the_original_program_are_listed_and_read(tmp_path: Path, repo: Path) -> None:
    old = unbundle("phases", tmp_path / "phases")
    found = [
        json.loads(r) for r in run("list-streams", cwd=tmp_path / "phases").stdout.split("\n") if r
    ]
    assert [r["files"] for r in found] == [["ended.txt", "idle.txt"], ["ended.txt"]]
    done = run("read-stream", found[0]["id"], cwd=tmp_path / "phases")
    read = list(records.read_records(io.BytesIO(done.stdout.encode())))
    assert [r["message"] for r in read] == ["Make an ended file", "Make an idle file"]
    assert old.top is not None


def test_the_checkpoints_of_a_stream_come_newest_first_with_prompt_and_files(story: Story) -> None:
    found = list(bind_stage("read-stream", [story.world.branch()])(()))
    assert [r["message"] for r in found] == [
        "Make it red",
        "carry forward: uncommitted session files",
    ]
    newest = found[0]
    assert newest["prompt"].startswith("Make it ") and newest["session_id"] == ALPHA
    assert newest["files"] == {"a b.txt": "added"}
    assert newest["parent"] == found[1]["oid"]
    assert found[1]["files"] == {"README.md": "modified"}
    assert not newest["is_task_checkpoint"] and newest["tool_use_id"] == ""


@pytest.mark.parametrize("start", ["", "refs/heads/", "heads/"])
def test_a_stream_is_found_by_ref_full_or_short_and_by_id(story: Story, start: str) -> None:
    by_ref = list(bind_stage("read-stream", [start + story.world.branch()])(()))
    assert list(bind_stage("read-stream", [by_ref[0]["stream"]])(())) == by_ref
    assert list(bind_stage("read-stream", [by_ref[0]["stream"][:6]])(())) == by_ref


@pytest.mark.parametrize("name", ["main", "nothing", "", "HEAD:README.md", "a\nb"])
def test_what_is_no_stream_is_an_error_naming_it(story: Story, name: str) -> None:
    with pytest.raises(Error, match="no such stream"):
        list(bind_stage("read-stream", [name])(()))


def test_listed_streams_are_read_by_the_next_command(story: Story) -> None:
    listed = run("list-streams").stdout
    read = run("read-stream", stdin=listed.encode())
    assert read.returncode == 0, read.stderr
    names = {json.loads(line)["ref"] for line in listed.splitlines()}
    assert {json.loads(line)["ref"] for line in read.stdout.splitlines()} == names
