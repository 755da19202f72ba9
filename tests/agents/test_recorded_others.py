"""Recorded sessions of Codex and Gemini CLI, played through the installed hooks."""

from __future__ import annotations

import json

import pytest

from tests.agents.conftest import Plays

TYPES = {"codex": "Codex", "gemini-cli": "Gemini CLI"}


@pytest.mark.parametrize("agent", TYPES)
def test_work_left_at_the_end_of_a_turn_has_a_checkpoint(played: Plays, agent: str) -> None:
    last = played(f"{agent}/resume")
    repo, state = last.repo, last.repo.state(last.session)
    assert repo.files(repo.stream) == repo.worktree()
    assert (state["phase"], state["agent_type"]) == ("ended", TYPES[agent])
    assert "second.txt" in state["files_touched"]


@pytest.mark.parametrize("agent", TYPES)
def test_a_persons_commit_of_it_is_linked(played: Plays, agent: str) -> None:
    last = played(f"{agent}/resume")
    repo = last.repo
    repo.git("add", "second.txt")
    repo.git("commit", "-q", "-m", "second")
    metadata = json.loads(repo.stored(repo.checkpoint(), "0/metadata.json"))
    assert (metadata["session_id"], metadata["agent"]) == (last.session, TYPES[agent])


def test_codexs_own_commit_carries_the_trailer(played: Plays) -> None:
    last = played("codex/resume")
    metadata = json.loads(last.repo.stored(last.repo.checkpoint(), "0/metadata.json"))
    assert metadata["session_id"] == last.session


def test_geminis_own_commit_ran_no_hook_and_is_linked_by_a_note(played: Plays) -> None:
    repo = played("gemini-cli/resume").repo
    assert repo.checkpoint() == ""
    note = repo.git("notes", "--ref=gitcp", "show", "HEAD")
    checkpoint = note.removeprefix("Entire-Checkpoint: ")
    assert json.loads(repo.stored(checkpoint, "metadata.json"))["checkpoint_id"] == checkpoint


def test_a_session_of_opencode_ends_with_its_client_and_not_where_that_was_killed(
    played: Plays,
) -> None:
    moments = played("opencode/basic-resume").moments
    phases = [(m.call.event, m.state["phase"]) for m in moments if m.state]
    assert [phase for event, phase in phases if event == "chat.message"] == ["active", "active"]
    assert [phase for event, phase in phases if event == "session.idle"] == ["idle", "idle"]
    assert [phase for event, phase in phases if event == "dispose"] == ["ended", "ended"]
    killed = played("opencode/sigint")
    assert "dispose" not in {m.call.event for m in killed.moments[-4:]}
    assert killed.repo.state(killed.session)["phase"] == "active"


@pytest.mark.parametrize(("agent", "outputs"), [("gemini-cli", [10]), ("opencode", [64])])
def test_a_checkpoint_tells_the_tokens_of_its_own_turns_alone(
    played: Plays, agent: str, outputs: list[int]
) -> None:
    scenario = {"gemini-cli": "resume", "opencode": "basic-resume"}[agent]
    repo = played(f"{agent}/{scenario}").repo
    repo.git("add", "second.txt")
    repo.git("commit", "-q", "-m", "second")
    record = json.loads(repo.gitcp("show", "--json", "HEAD"))
    turns = record["contents"][0]["turns"]
    assert [turn["prompt"].strip('"') for turn in turns] == ["Second prompt please"]
    assert [turn["tokens"]["output_tokens"] for turn in turns] == outputs
