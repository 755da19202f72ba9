"""Every recorded session, played through the hooks that are installed, and committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from tests.support.clients import spelling
from tests.support.recorded import Recorded

# agent/scenario: prompts, what it left uncommitted, (input, output) tokens of its transcript
SESSIONS: dict[str, tuple[list[str], list[str], tuple[int, int] | None]] = {
    "copilot/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (119, 189),
    ),
    "copilot/claude-settings": (["Create hello.py and edit README"], [], None),
    "copilot/subagent": (["Go subagent"], ["sub_alpha.txt"], (48, 88)),
    "copilot/fail-parallel": (
        ["Go fail"],
        ["a.txt", "b.txt", "p.txt", "part.txt", "src/q.txt"],
        None,
    ),
    "copilot/sigint": (["Go kill"], ["k.txt", "k1.txt"], None),
    "opencode/basic-resume": (
        ['"Create hello.py and edit README"', '"Second prompt please"'],
        ["second.txt"],
        (119, 189),
    ),
    "opencode/subagent": (['"Go subagent"'], ["sub_alpha.txt"], None),
    "opencode/fail-parallel": (
        ['"Go fail"'],
        ["a.txt", "b.txt", "p.txt", "part.txt", "src/q.txt"],
        None,
    ),
    "opencode/sigint": (['"Go kill"'], ["k.txt", "k1.txt"], None),
    "opencode/sigkill": (['"Go kill"'], ["k.txt", "k1.txt"], None),
    "qwen-code/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (108, 168),
    ),
    "cline/basic": (["Create hello.py please"], [], (183, 63)),
}


def played(tmp_path: Path, name: str, without: int | None = None) -> tuple[Recorded, str]:
    """The repository after a recording, and its last session."""
    agent, _, scenario = name.partition("/")
    repo = Recorded(tmp_path, agent, scenario)
    calls = repo.play(without=without)
    assert not [call.stderr for call in calls if call.stderr]
    return repo, spelling.session(calls[-1].payload)


def stored(repo: Recorded, commit: str = "HEAD") -> dict[str, Any]:
    """The metadata of the first session of the checkpoint that a commit is linked to."""
    checkpoint = repo.checkpoint(commit)
    assert checkpoint, repo.git("log", "--format=%B", commit)
    found: dict[str, Any] = json.loads(repo.stored(checkpoint, "0/metadata.json"))
    return found


@pytest.mark.parametrize("name", SESSIONS)
def test_what_a_session_left_has_a_checkpoint_and_a_commit_of_it_names_the_session(
    name: str, tmp_path: Path
) -> None:
    prompts, left, tokens = SESSIONS[name]
    repo, session = played(tmp_path, name)
    agent_type = agents.adapter(name.partition("/")[0]).AGENT_TYPE
    state = repo.state(session)
    assert state["agent_type"] == agent_type
    assert [turn["prompt"] for turn in state["turns"].values()] == prompts
    if left:
        if state["phase"] != "active":  # else a commit finds what an interrupted turn wrote
            assert repo.files(repo.stream) == repo.worktree()
            assert state["files_touched"] == left
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "the person commits it")
    metadata = stored(repo)
    assert (metadata["session_id"], metadata["agent"]) == (session, agent_type)
    assert set(left) <= set(metadata["files_touched"])
    asked = repo.stored(repo.checkpoint(), "0/prompt.txt")
    assert all(prompt in asked for prompt in prompts)
    if tokens:
        usage = metadata["token_usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == tokens
    assert repo.stored(repo.checkpoint(), "0/full.jsonl")


@pytest.mark.parametrize(
    "name",
    ["copilot/basic-resume", "opencode/basic-resume", "qwen-code/basic-resume", "cline/basic"],
)
def test_the_agents_own_commit_names_its_session(name: str, tmp_path: Path) -> None:
    repo, session = played(tmp_path, name)
    assert stored(repo)["session_id"] == session
