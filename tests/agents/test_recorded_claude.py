"""Recorded sessions of Claude Code, played through the installed hooks, and committed."""

from __future__ import annotations

import json
import stat

import pytest

from tests.agents.conftest import Plays
from tests.support.recorded import V1, Played, Recorded

PHASES = {"UserPromptSubmit": "active", "Stop": "idle", "SessionEnd": "ended"}


def unpack(play: Played) -> tuple[Recorded, str]:
    return play.repo, play.session


@pytest.mark.parametrize(
    ("scenario", "checkpoints"),
    [("basic", 0), ("resume", 1), ("parallel", 1), ("fail", 2), ("tui", 0), ("compact", 0)],
)
def test_each_turn_that_left_changes_has_a_checkpoint_of_the_whole_worktree(
    played: Plays, scenario: str, checkpoints: int
) -> None:
    moments = [one for one in played(f"claude-code/{scenario}").moments if one.tip]
    for moment in moments:
        assert moment.stored == moment.there
        assert {*moment.kept} >= {"full.jsonl", "prompt.txt"}
    assert len({moment.tip for moment in moments}) == checkpoints


@pytest.mark.parametrize("scenario", ["basic", "resume", "parallel", "fail", "sigint", "tui-esc"])
def test_the_phase_of_a_session_follows_its_events(played: Plays, scenario: str) -> None:
    for moment in played(f"claude-code/{scenario}").moments:
        if moment.call.event in PHASES:
            assert moment.state["phase"] == PHASES[moment.call.event]


def test_a_session_start_alone_leaves_no_state(played: Plays) -> None:
    first = played("claude-code/basic").moments[0]
    assert (first.call.event, first.state) == ("SessionStart", {})


def test_the_state_file_names_its_base_its_files_and_is_private(played: Plays) -> None:
    repo, session = unpack(played("claude-code/parallel"))
    state = repo.state(session)
    assert state["session_id"] == session
    assert state["base_commit"] == repo.git("rev-parse", "HEAD")
    assert state["agent_type"] == "Claude Code"
    assert state["first_prompt"] == "Go parallel"
    assert state["checkpoint_count"] == 1
    assert state["files_touched"] == ["a.txt", "b.txt", "p1.txt", "p2.txt"]
    path = repo.path / ".git" / "entire-sessions" / f"{session}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_checkpoint_names_its_session_and_base(played: Plays) -> None:
    repo, session = unpack(played("claude-code/parallel"))
    message = repo.git("log", "-1", "--format=%B", repo.stream).splitlines()
    assert message[0] == "Go parallel"
    assert f"Entire-Session: {session}" in message
    assert f"Base-Commit: {repo.git('rev-parse', 'HEAD')}" in message


def test_neither_index_nor_head_nor_worktree_is_touched(played: Plays) -> None:
    repo, _ = unpack(played("claude-code/parallel"))
    assert repo.git("diff", "--cached", "--name-only") == ""
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert not (repo.path / ".entire" / "metadata").exists()


def test_an_interrupted_turn_gets_its_checkpoint_at_the_next_prompt(played: Plays) -> None:
    repo, session = unpack(played("claude-code/tui-esc"))
    assert {"k.txt", "k1.txt"} <= repo.files(repo.stream).keys()
    assert repo.state(session)["files_touched"] == ["k.txt", "k1.txt"]


def test_the_agents_own_commit_is_linked_within_its_turn(played: Plays) -> None:
    repo, session = unpack(played("claude-code/basic"))
    checkpoint = repo.checkpoint()
    assert checkpoint
    summary = json.loads(repo.stored(checkpoint, "metadata.json"))
    assert summary["checkpoint_id"] == checkpoint
    assert summary["files_touched"] == ["README.md", "hello.py", "shell.txt"]
    assert json.loads(repo.stored(checkpoint, "0/metadata.json"))["session_id"] == session
    assert repo.stored(checkpoint, "0/prompt.txt") == "Create hello.py and edit README"


def test_the_end_of_the_turn_completes_the_transcript_of_its_commit(played: Plays) -> None:
    repo, session = unpack(played("claude-code/basic"))
    checkpoint = repo.checkpoint()
    assert "All done: first prompt zq." in repo.stored(checkpoint, "0/full.jsonl")
    assert repo.state(session).get("turn_checkpoint_ids", []) == []
    assert repo.stream == ""


def test_a_persons_commit_is_linked_to_the_session_behind_it(played: Plays) -> None:
    repo, session = unpack(played("claude-code/parallel"))
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


def test_a_commit_of_something_else_is_not_linked(played: Plays) -> None:
    repo, _ = unpack(played("claude-code/parallel"))
    (repo.path / "mine.txt").write_text("my own words, no agent's\n")
    repo.git("add", "mine.txt")
    repo.git("commit", "-q", "-m", "mine")
    assert repo.checkpoint() == ""
    assert repo.files(repo.stream).keys() >= {"a.txt", "b.txt"}


def test_two_commits_of_one_session_have_two_checkpoints_of_it(played: Plays) -> None:
    repo, session = unpack(played("claude-code/resume"))
    repo.git("add", "second.txt")
    repo.git("commit", "-q", "-m", "second")
    ids = [repo.checkpoint("HEAD~1"), repo.checkpoint()]
    assert all(ids) and ids[0] != ids[1]
    for checkpoint in ids:
        assert json.loads(repo.stored(checkpoint, "0/metadata.json"))["session_id"] == session
