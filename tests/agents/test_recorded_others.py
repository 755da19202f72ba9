"""Recorded sessions of Codex and Gemini CLI, played through the installed hooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.recorded import Recorded

TYPES = {"codex": "Codex", "gemini-cli": "Gemini CLI"}


@pytest.mark.parametrize("agent", TYPES)
def test_work_left_at_the_end_of_a_turn_has_a_checkpoint(tmp_path: Path, agent: str) -> None:
    repo = Recorded(tmp_path, agent, "resume")
    session = repo.play()[-1].payload["session_id"]
    assert repo.files(repo.stream) == repo.worktree()
    assert repo.state(session)["phase"] == "ended"
    assert repo.state(session)["agent_type"] == TYPES[agent]
    assert "second.txt" in repo.state(session)["files_touched"]


@pytest.mark.parametrize("agent", TYPES)
def test_a_persons_commit_of_it_is_linked(tmp_path: Path, agent: str) -> None:
    repo = Recorded(tmp_path, agent, "resume")
    session = repo.play()[-1].payload["session_id"]
    repo.git("add", "second.txt")
    repo.git("commit", "-q", "-m", "second")
    metadata = json.loads(repo.stored(repo.checkpoint(), "0/metadata.json"))
    assert metadata["session_id"] == session
    assert metadata["agent"] == TYPES[agent]


def test_codexs_own_commit_carries_the_trailer(tmp_path: Path) -> None:
    repo = Recorded(tmp_path, "codex", "basic")
    session = repo.play()[-1].payload["session_id"]
    metadata = json.loads(repo.stored(repo.checkpoint(), "0/metadata.json"))
    assert metadata["session_id"] == session


def test_geminis_own_commit_ran_no_hook_and_is_linked_by_a_note(tmp_path: Path) -> None:
    repo = Recorded(tmp_path, "gemini-cli", "basic")
    repo.play()
    assert repo.checkpoint() == ""
    note = repo.git("notes", "--ref=gitcp", "show", "HEAD")
    checkpoint = note.removeprefix("Entire-Checkpoint: ")
    assert json.loads(repo.stored(checkpoint, "metadata.json"))["checkpoint_id"] == checkpoint
