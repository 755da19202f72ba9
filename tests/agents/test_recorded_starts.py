"""Sessions that begin in other ways: forks, after /clear, in a worktree, without a transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.conftest import Plays
from tests.support.clients import spelling
from tests.support.recorded import Played, Recorded

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
