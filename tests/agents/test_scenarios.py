"""Every recorded session, played through the hooks that are installed, and committed.

Also with any one of its events left out: what is recorded then is later or coarser, never lost.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from tests.agents.conftest import Plays
from tests.support.clients import spelling
from tests.support.recorded import Recorded
from tests.support.recording import SCENARIOS
from tests.support.replay import Replay, plan

# agent/scenario: prompts, what it left uncommitted, (input, output) tokens of its transcript
SESSIONS: dict[str, tuple[list[str], list[str], tuple[int, int] | None]] = {
    "copilot/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (119, 189),
    ),
    "copilot/claude-settings": (["Create hello.py and edit README"], [], (75, 125)),
    "copilot/subagent": (["Go subagent"], ["sub_alpha.txt"], (48, 88)),
    "copilot/fail-parallel": (
        ["Go fail"],
        ["a.txt", "b.txt", "late.txt", "p.txt", "part.txt", "src/q.txt"],
        None,
    ),
    "copilot/sigint": (["Go kill"], ["k.txt", "k1.txt"], None),
    "opencode/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (119, 189),
    ),
    "opencode/subagent": (["Go subagent"], ["sub_alpha.txt"], None),
    "opencode/fail-parallel": (
        ["Go fail"],
        ["a.txt", "b.txt", "p.txt", "part.txt", "src/q.txt"],
        None,
    ),
    "opencode/sigint": (["Go kill"], ["k.txt", "k1.txt"], None),
    "opencode/sigkill": (["Go kill"], ["k.txt", "k1.txt"], None),
    "kilo-code/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (119, 189),
    ),
    "pi/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (80, 40),
    ),
    "qwen-code/basic-resume": (
        ["Create hello.py and edit README", "Second prompt please"],
        ["second.txt"],
        (108, 168),
    ),
    "cline/basic": (["Create hello.py please"], [], (183, 63)),
    "factory-droid/basic": (
        ["Create hello.py and edit README"],
        ["README.md", "hello.py", "shell.txt"],
        None,
    ),
}


def stored(repo: Recorded, commit: str = "HEAD") -> dict[str, Any]:
    """The metadata of the first session of the checkpoint that a commit is linked to."""
    checkpoint = repo.checkpoint(commit)
    assert checkpoint, repo.git("log", "--format=%B", commit)
    found: dict[str, Any] = json.loads(repo.stored(checkpoint, "0/metadata.json"))
    return found


@pytest.mark.parametrize("name", SESSIONS)
def test_what_a_session_left_has_a_checkpoint_and_a_commit_of_it_names_the_session(
    name: str, played: Plays
) -> None:
    prompts, left, tokens = SESSIONS[name]
    repo, session = played(name).repo, played(name).session
    assert played(name).errors == []
    agent_type = agents.get_client(name.partition("/")[0]).AGENT_TYPE
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
    said = repo.gitcp("show", "--full", "HEAD")
    assert all(f"  > {prompt}" in said for prompt in prompts)
    if tokens:
        usage = metadata["token_usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == tokens
    assert repo.stored(repo.checkpoint(), "0/full.jsonl")


@pytest.mark.parametrize(
    "name",
    ["copilot/basic-resume", "opencode/basic-resume", "qwen-code/basic-resume", "cline/basic"],
)
def test_the_agents_own_commit_names_its_session(name: str, played: Plays) -> None:
    last = played(name)
    assert stored(last.repo)["session_id"] == last.session


def reaching(name: str) -> list[tuple[int, str]]:
    """(number in the plan, our name) of each event of a recording that means something to us."""
    agent, _, scenario = name.partition("/")
    replay = Replay(agent, scenario, Path("/repo"), Path("/home/user"))
    names = agents.get_client(replay.meta.get("installed", agent)).EVENTS
    numbered = enumerate(plan(replay.events()))
    return [
        (n, names[e["event"]])
        for n, (what, e) in numbered
        if what == "call" and e["event"] in names
    ]


def left_out() -> list[tuple[str, int, str]]:
    """Which event to leave out of which recording: with LONG=1 each of all, else a few."""
    if os.environ.get("LONG"):
        names = ["/".join(scenario) for scenario in SCENARIOS]
        return [(name, *event) for name in names for event in reaching(name)]
    few = {
        "claude-code/parallel": "turn-end",
        "claude-code/resume": "turn-start",
        "codex/basic": "tool-start",
        "gemini-cli/basic": "tool-end",
        "copilot/claude-settings": "session-end",
        "opencode/subagent": "turn-end",
        "cline/basic": "turn-start",
    }
    return [
        (name, *next(event for event in reaching(name) if event[1] == ours))
        for name, ours in few.items()
    ]


@pytest.mark.parametrize(("name", "number", "event"), left_out())
def test_with_an_event_left_out_nothing_is_lost_and_nothing_wrongly_linked(
    name: str, number: int, event: str, tmp_path: Path
) -> None:
    agent, _, scenario = name.partition("/")
    repo = Recorded(tmp_path, agent, scenario)
    calls = repo.play(without=number)
    known = {spelling.session(call.payload) for call in calls}
    git = partial(repo.git, "-C", str(repo.place))
    (repo.place / "mine.txt").write_text("a line of the person's own, nobody else's\n")
    git("add", "mine.txt")
    git("commit", "-q", "-m", "mine")
    assert repo.linked(git("rev-parse", "HEAD")) == [], "the person's own commit"
    wrote = git("ls-files", "--others", "--exclude-standard").splitlines()
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "the agent's work")
    commits = git("rev-list", "--reverse", "HEAD").splitlines()[1:]
    linked = {commit: repo.linked(commit) for commit in commits}
    assert set().union(*linked.values()) <= known
    if wrote:
        assert linked[commits[-1]], f"{wrote} without {event}"
    agents_own = commits[:-2]
    assert all(linked[commit] for commit in agents_own)
