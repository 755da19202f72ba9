"""Clients that run the hooks of Claude Code's settings beside their own: all counts once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Plays
from tests.support.clients.matchers import Installed
from tests.support.harness import World
from tests.support.recorded import Recorded


def counted(repo: Recorded, session: str) -> dict[str, Any]:
    """What a session was counted as: its turns, files, checkpoints, tokens and edits."""
    state = repo.state(session)
    journal = (repo.path / ".git" / "gitcp" / "journal").read_text().splitlines()
    edits = [line for line in map(json.loads, journal) if "path" in line]
    stored = json.loads(repo.stored(repo.checkpoint(), "0/metadata.json"))
    return {
        "turns": [turn["prompt"] for turn in state["turns"].values()],
        "files": state.get("files_touched"),
        "checkpoints": state["checkpoint_count"],
        "phase": state["phase"],
        "tokens": {key: stored["token_usage"][key] for key in ("input_tokens", "output_tokens")},
        "stored": stored["files_touched"],
        "edits": [(edit["path"], edit["how"], bool(edit["who"][0])) for edit in edits],
        "commits": repo.git("log", "--format=%s").splitlines(),
    }


@pytest.mark.thorough
def test_a_whole_session_of_copilot_counts_once(played: Plays, tmp_path: Path) -> None:
    once = played("copilot/basic-resume")
    twice = Recorded(tmp_path, "copilot", "basic-resume", claudes=True)
    assert not [call.stderr for call in twice.play() if call.stderr]
    assert counted(twice, once.session) == counted(once.repo, once.session)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("sessionStart", {"composer_mode": "agent"}),
    ("beforeSubmitPrompt", {"prompt": "write it"}),
    ("preToolUse", {"tool_name": "Write", "tool_use_id": "t1"}),
    ("postToolUse", {"tool_name": "Write", "tool_use_id": "t1"}),
    ("preToolUse", {"tool_name": "Shell", "tool_use_id": "t2"}),
    ("postToolUse", {"tool_name": "Shell", "tool_use_id": "t2"}),
    ("stop", {"status": "completed"}),
    ("sessionEnd", {"reason": "completed"}),
]


@pytest.mark.parametrize("together", [False, True], ids=["once", "with Claude Code's"])
def test_a_whole_session_of_cursor_counts_once(world: World, together: bool) -> None:
    agents = ["cursor", "claude-code"] if together else ["cursor"]
    world.gitcp("enable", *(f"--agent={agent}" for agent in agents))
    names = {"beforeSubmitPrompt": "UserPromptSubmit"}
    inputs = {"Write": {"file_path": "a.py"}, "Shell": {"command": "echo b >b.py"}}
    for event, more in CALLS:
        tool = more.get("tool_name")
        if event == "postToolUse":
            world.write("a.py" if tool == "Write" else "b.py", "what the agent wrote\n")
        given = {
            "conversation_id": "c1",
            "generation_id": "g1",
            "cursor_version": "2.4.0",
            "workspace_roots": [str(world.path)],
            "hook_event_name": event,
            **({"tool_input": inputs[tool]} if tool else {}),
            **more,
        }
        for agent in agents:
            name = event if agent == "cursor" else names.get(event, event[0].upper() + event[1:])
            for command in Installed(agent, world.path, world.home)(name, tool):
                argv = ["sh", "-c", command]
                subprocess.run(argv, cwd=world.path, input=json.dumps(given), text=True, check=True)
    state = world.state("c1")
    assert (state["agent_type"], state["phase"]) == ("Cursor", "ended")
    assert [turn["prompt"] for turn in state["turns"].values()] == ["write it"]
    assert (state["files_touched"], state["checkpoint_count"]) == (["a.py", "b.py"], 1)
    assert len(world.trailer(world.streams[0], "Entire-Session")) == 1
    assert len(world.commit()) == 1
