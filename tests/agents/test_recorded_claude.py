"""Recorded sessions of Claude Code, played through the installed hooks, and committed."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.support.recorded import V1, Recorded
from tests.support.replay import Call

PHASES = {"UserPromptSubmit": "active", "Stop": "idle", "SessionEnd": "ended"}


def played(tmp_path: Path, scenario: str) -> tuple[Recorded, str]:
    repo = Recorded(tmp_path, "claude-code", scenario)
    session: str = repo.play()[-1].payload["session_id"]
    return repo, session


@pytest.mark.parametrize(
    ("scenario", "checkpoints"),
    [("basic", 0), ("resume", 1), ("parallel", 1), ("fail", 2), ("tui", 0), ("compact", 0)],
)
def test_each_turn_that_left_changes_has_a_checkpoint_of_the_whole_worktree(
    tmp_path: Path, scenario: str, checkpoints: int
) -> None:
    repo = Recorded(tmp_path, "claude-code", scenario)
    tips = []

    def after(call: Call) -> None:
        if call.event == "Stop" and (stream := repo.stream):
            assert repo.files(stream) == repo.worktree()
            session = call.payload["session_id"]
            kept = repo.git("ls-tree", "--name-only", stream, f".entire/metadata/{session}/")
            assert {p.rpartition("/")[2] for p in kept.splitlines()} >= {"full.jsonl", "prompt.txt"}
            tips.append(repo.git("rev-parse", stream))

    repo.play(after)
    assert len(set(tips)) == checkpoints


@pytest.mark.parametrize("scenario", ["basic", "resume", "parallel", "fail", "sigint", "tui-esc"])
def test_the_phase_of_a_session_follows_its_events(tmp_path: Path, scenario: str) -> None:
    repo = Recorded(tmp_path, "claude-code", scenario)

    def after(call: Call) -> None:
        if call.event in PHASES:
            assert repo.state(call.payload["session_id"])["phase"] == PHASES[call.event]

    repo.play(after)


def test_a_session_start_alone_leaves_no_state(tmp_path: Path) -> None:
    repo = Recorded(tmp_path, "claude-code", "basic")

    def after(call: Call) -> None:
        if call.event == "SessionStart":
            assert repo.state(call.payload["session_id"]) == {}

    repo.play(after)


def test_the_state_file_names_its_base_its_files_and_is_private(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "parallel")
    state = repo.state(session)
    assert state["session_id"] == session
    assert state["base_commit"] == repo.git("rev-parse", "HEAD")
    assert state["agent_type"] == "Claude Code"
    assert state["first_prompt"] == "Go parallel"
    assert state["checkpoint_count"] == 1
    assert state["files_touched"] == ["a.txt", "b.txt", "p1.txt", "p2.txt"]
    path = repo.path / ".git" / "entire-sessions" / f"{session}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_checkpoint_names_its_session_and_base(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "parallel")
    message = repo.git("log", "-1", "--format=%B", repo.stream).splitlines()
    assert message[0] == "Go parallel"
    assert f"Entire-Session: {session}" in message
    assert f"Base-Commit: {repo.git('rev-parse', 'HEAD')}" in message


def test_neither_index_nor_head_nor_worktree_is_touched(tmp_path: Path) -> None:
    repo, _ = played(tmp_path, "parallel")
    assert repo.git("diff", "--cached", "--name-only") == ""
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert not (repo.path / ".entire" / "metadata").exists()


def test_an_interrupted_turn_gets_its_checkpoint_at_the_next_prompt(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "tui-esc")
    assert {"k.txt", "k1.txt"} <= repo.files(repo.stream).keys()
    assert repo.state(session)["files_touched"] == ["k.txt", "k1.txt"]


def test_the_agents_own_commit_is_linked_within_its_turn(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "basic")
    checkpoint = repo.checkpoint()
    assert checkpoint
    summary = json.loads(repo.stored(checkpoint, "metadata.json"))
    assert summary["checkpoint_id"] == checkpoint
    assert summary["files_touched"] == ["README.md", "hello.py", "shell.txt"]
    assert json.loads(repo.stored(checkpoint, "0/metadata.json"))["session_id"] == session
    assert repo.stored(checkpoint, "0/prompt.txt") == "Create hello.py and edit README"


def test_the_end_of_the_turn_completes_the_transcript_of_its_commit(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "basic")
    checkpoint = repo.checkpoint()
    assert "All done: first prompt zq." in repo.stored(checkpoint, "0/full.jsonl")
    assert repo.state(session).get("turn_checkpoint_ids", []) == []
    assert repo.stream == ""


def test_a_persons_commit_is_linked_to_the_session_behind_it(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "parallel")
    repo.git("add", "a.txt", "b.txt", "p1.txt", "p2.txt")
    repo.git("commit", "-q", "-m", "add the files")
    checkpoint = repo.checkpoint()
    summary = json.loads(repo.stored(checkpoint, "metadata.json"))
    assert summary["files_touched"] == ["a.txt", "b.txt", "p1.txt", "p2.txt"]
    assert json.loads(repo.stored(checkpoint, "0/metadata.json"))["session_id"] == session
    assert repo.git("log", "-1", "--format=%s", V1) == f"Checkpoint: {checkpoint}"
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads/entire/").splitlines() == [
        f"refs/heads/{V1}"
    ]
    assert repo.state(session)["base_commit"] == repo.git("rev-parse", "HEAD")


def test_a_commit_of_something_else_is_not_linked(tmp_path: Path) -> None:
    repo, _ = played(tmp_path, "parallel")
    (repo.path / "mine.txt").write_text("my own words, no agent's\n")
    repo.git("add", "mine.txt")
    repo.git("commit", "-q", "-m", "mine")
    assert repo.checkpoint() == ""
    assert repo.files(repo.stream).keys() >= {"a.txt", "b.txt"}


def test_two_commits_of_one_session_have_two_checkpoints_of_it(tmp_path: Path) -> None:
    repo, session = played(tmp_path, "resume")
    repo.git("add", "second.txt")
    repo.git("commit", "-q", "-m", "second")
    ids = [repo.checkpoint("HEAD~1"), repo.checkpoint()]
    assert all(ids) and ids[0] != ids[1]
    for checkpoint in ids:
        assert json.loads(repo.stored(checkpoint, "0/metadata.json"))["session_id"] == session
