"""Recorded sessions of clients other than Claude Code, and sessions that begin in other ways:
forks, after /clear, in a worktree, without a transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.conftest import Plays
from tests.support.clients import spelling
from tests.support.recorded import Played, Recorded

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


# calls of the model, (input, output) tokens of the original and of what its fork spent
FORKS = {
    "claude-code": ((5, 80, 130), (2, 46, 66)),
    "codex": ((4, 271, 51), (2, 149, 39)),
    "opencode": ((5, 75, 125), (2, 44, 64)),
}


def stored(repo: Recorded, commit: str = "HEAD") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(repo.stored(repo.checkpoint(commit), "0/metadata.json"))
    return found


def spent(metadata: dict[str, Any]) -> tuple[int, int, int]:
    usage = metadata["token_usage"]
    return usage["api_call_count"], usage["input_tokens"], usage["output_tokens"]


def sessions(played: Played) -> list[str]:
    named = (spelling.session(moment.call.payload) for moment in played.moments)
    return list(dict.fromkeys(named))


@pytest.mark.parametrize("agent", FORKS)
def test_what_a_fork_has_from_its_original_is_neither_its_work_nor_its_cost(
    played: Plays, agent: str
) -> None:
    last = played(f"{agent}/fork")
    repo, (original, fork) = last.repo, sessions(last)
    assert last.errors == []
    assert repo.linked("HEAD") == [original]
    assert repo.state(fork)["files_touched"] == ["second.txt"]
    first = stored(repo)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "second")
    second = stored(repo)
    assert (first["session_id"], second["session_id"]) == (original, fork)
    assert second["files_touched"] == ["second.txt"]
    assert (spent(first), spent(second)) == FORKS[agent]
    asked = repo.stored(repo.checkpoint("HEAD"), "0/prompt.txt")
    assert asked.strip('"') == "Second prompt please"  # opencode's own quotes


def test_a_session_after_clear_is_one_of_its_own(played: Plays) -> None:
    last = played("claude-code/tui")
    first, second = sessions(last)
    states = [last.repo.state(one) for one in (first, second)]
    assert [s["phase"] for s in states] == ["ended", "ended"]
    prompts = [[turn["prompt"] for turn in s["turns"].values()] for s in states]
    assert prompts == [["Create hello interactively"], ["again please"]]
    assert last.repo.linked("HEAD") == [first]


def test_a_session_that_a_client_starts_in_a_worktree_of_its_own_is_at_home_there(
    played: Plays,
) -> None:
    last = played("claude-code/worktree")
    repo, side = last.repo, last.repo.path / ".claude" / "worktrees" / "side"
    assert last.errors == []
    assert repo.state(last.session)["worktree_path"] == str(side)
    assert repo.linked("worktree-side") == [last.session]
    stream = repo.git("for-each-ref", "--format=%(refname)", "refs/heads/entire/*-*")
    tree = repo.files(stream)
    assert tree.keys() == {"README.md", "hello.py", "shell.txt", "src/app.py"}
    assert repo.git("show", f"{stream}:README.md") == (side / "README.md").read_text().strip()
    assert repo.checkpoint("main") == ""


def test_a_session_without_a_transcript_has_its_prompt_files_and_link(played: Plays) -> None:
    last = played("claude-code/no-persistence")
    repo = last.repo
    assert last.errors == []
    assert repo.linked("HEAD") == [last.session]
    assert stored(repo)["files_touched"] == ["README.md", "hello.py", "shell.txt"]
    assert repo.stored(repo.checkpoint(), "0/prompt.txt") == "Create hello.py and edit README"
    names = repo.git("ls-tree", "-r", "--name-only", "entire/checkpoints/v1").splitlines()
    assert not [name for name in names if "full.jsonl" in name]
