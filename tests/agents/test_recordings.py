"""Every payload that a real client was seen to send, through its adapter, and what it left."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents.reading.edits import recognise_client
from tests.support import recording
from tests.support.clients.clock import TIMES
from tests.support.replay import RECORDINGS, Replay, initial

# b: the batch that ends a response; N: a prompt that is the client's own notification
SIGNS = {
    "session-start": "S",
    "turn-start": "P",
    "tool-start": "(",
    "tool-end": ")",
    "subagent-start": "[",
    "subagent-end": "]",
    "todo": "T",
    "turn-end": ".",
    "compact": "C",
    "session-end": "E",
    "unknown": "",
}
SEQUENCES = [
    ("claude-code", "api-error", "SP()bE"),
    ("claude-code", "basic", "SP()b()b()b()b.E"),
    ("claude-code", "compact", "SP.ESC]]SESP.E"),
    ("claude-code", "deny-exit2", "SP(b()b.E"),
    ("claude-code", "deny-json", "SP(b()b.E"),
    ("claude-code", "edits", "SP()b()b()b.ESP()b()b()b()b()b()b()b()b.E"),
    ("claude-code", "fail", "SP()bb()bbb()b()b()b.N.E"),
    ("claude-code", "fork", "SP()b()b()b()b.ESP()b.E"),
    ("claude-code", "no-persistence", "SP()b()b()b()b.E"),
    ("claude-code", "parallel", "SP()()()b()()()()b(())b.E"),
    ("claude-code", "resume", "SP()b()b()b()b.ESP()b.E"),
    ("claude-code", "shell-deletes", "SP()b()b.ESP()b.E"),
    ("claude-code", "sigint", "SP()b(E"),
    ("claude-code", "stop-block", "SP()b()b.........E"),
    ("claude-code", "subagent", "SP[[[[()b(()b])]b]]bbb.E"),
    ("claude-code", "tui", "SP()b()b()b()b.ESP()b()bb()b.E"),
    ("claude-code", "tui-esc", "SP()b(P.E"),
    ("claude-code", "worktree", "SP()b()b()b()b.E"),
    ("cline", "basic", "P()."),
    ("codex", "basic", "SP()()().E"),
    ("codex", "deny-exit2", "SP((().E"),
    ("codex", "fork", "SP()()().ESP().E"),
    ("codex", "resume", "SP()()().ESP().E"),
    ("codex", "sigint", "SP()(E"),
    ("codex", "subagent", "SP[)[(()]).E"),
    ("copilot", "basic-resume", "SP()()()().ESP().E"),
    ("copilot", "claude-settings", "SP()()()().E"),
    ("copilot", "fail-parallel", "SP((()))()()()()()().EN.E"),
    ("copilot", "pascal-case", "SP()()()().E"),
    ("copilot", "sigint", "SP.ESP()(E"),
    ("copilot", "subagent", "SP[[()]].E"),
    ("factory-droid", "basic", "S()()().E"),
    ("gemini-cli", "basic", "SP()()()()()().E"),
    ("gemini-cli", "deny-exit2", "SP(()()()((.E"),
    ("gemini-cli", "resume", "SP()()()()()().ESP().E"),
    ("kilo-code", "basic-resume", "SP()()()().EP().E"),
    ("opencode", "basic-resume", "SP()()()().EP().E"),
    ("opencode", "fail-parallel", "SP((()))()(()()().E"),
    ("opencode", "fork", "SP()()()().ESP().E"),
    ("opencode", "sigint", "SP.ESP()("),
    ("opencode", "sigkill", "SP.ESP()("),
    ("opencode", "subagent", "SP[()](T.E"),
    ("pi", "basic-resume", "SP()()()().ESP().E"),
    ("qwen-code", "basic-resume", "P()()().P()."),
]


def events(agent: str, scenario: str) -> list[dict[str, Any]]:
    """The records of the hooks that mean something to us."""
    event = agents.get_client(agent).read_event
    records = [dict(event(name, payload)) for name, payload in recording.calls(agent, scenario)]
    return [record for record in records if record["event"] != "unknown"]


def sign(event: dict[str, Any]) -> str:
    if "tools" in event:
        return "b"
    return "N" if event["notification"] else SIGNS[event["event"]]


@pytest.mark.parametrize(("agent", "scenario", "expected"), SEQUENCES)
def test_the_hooks_of_a_session_become_our_events(agent: str, scenario: str, expected: str) -> None:
    found = events(agent, scenario)
    assert "".join(map(sign, found)) == expected
    for event in found:  # names its session and only absolute paths
        assert (event["type"], event["agent"]) == ("event", agent)
        assert event["session_id"] in event.get("transcript_path", event["session_id"]) or (
            agent == "gemini-cli" and event["session_id"][:8] in event["transcript_path"]
        )
        for tool in (event["tool"],) if "tool" in event else event.get("tools", ()):
            assert all(os.path.isabs(path) for path in tool["input_paths"])
            assert bool(tool["input_paths"]) == (tool["kind"] == "write")


def test_each_recording_is_read() -> None:
    assert [(agent, scenario) for agent, scenario, _ in SEQUENCES] == recording.SCENARIOS


def tools(agent: str, scenario: str, event: str) -> list[tuple[str, str, list[str], bool]]:
    found = [e["tool"] for e in events(agent, scenario) if e["event"] == event and "tool" in e]
    return [(t["name"], t["kind"], t["input_paths"], t["failed"]) for t in found]


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (
            "claude-code",
            [
                ("Write", "write", ["/repo/hello.py"], False),
                ("Read", "read", [], False),
                ("Edit", "write", ["/repo/README.md"], False),
                ("Bash", "shell", [], False),
            ],
        ),
        (
            "codex",
            [
                ("apply_patch", "write", ["/repo/hello.py"], False),
                ("apply_patch", "write", ["/repo/README.md"], False),
                ("Bash", "shell", [], False),
            ],
        ),
        (
            "gemini-cli",
            [
                ("write_file", "write", ["/repo/hello.py"], False),
                ("read_file", "read", [], False),
                ("replace", "write", ["/repo/README.md"], False),
                ("run_shell_command", "shell", [], False),
                ("write_file", "write", ["/repo/a.txt"], False),
                ("write_file", "write", ["/repo/b.txt"], False),
            ],
        ),
    ],
)
def test_a_tool_says_what_it_writes(agent: str, expected: list[Any]) -> None:
    assert tools(agent, "basic", "tool-start") == expected
    assert tools(agent, "basic", "tool-end") == expected


def test_the_first_prompt_and_the_last_words_are_in_the_events() -> None:
    for agent in ("claude-code", "codex", "gemini-cli"):
        turn = [e for e in events(agent, "basic") if e["event"] in ("turn-start", "turn-end")]
        assert turn[0]["prompt"] == "Create hello.py and edit README"
        assert turn[1]["last_message"].endswith("All done: first prompt zq.")
        assert turn[0].get("turn") == turn[1].get("turn")
        assert ("turn" in turn[0]) == (agent != "gemini-cli")


def test_a_failing_shell_call_of_claude_code_has_failed() -> None:
    ends = tools("claude-code", "fail", "tool-end")
    assert [failed for _, _, _, failed in ends] == [False, True, False, False, False]


def test_a_batch_tells_of_calls_that_never_ran() -> None:
    batches = [e["tools"] for e in events("claude-code", "fail") if "tools" in e]
    failed = [tool["name"] for batch in batches for tool in batch if tool["failed"]]
    assert failed == ["Edit", "NoSuchTool", "Bash"]


def test_a_subagent_of_claude_code_is_tied_to_the_call_that_started_it() -> None:
    found = events("claude-code", "subagent")
    ends = [e["tool"] for e in found if e["event"] == "subagent-end" and "tool" in e]
    assert [(t["agent_id"], t["subagent_type"], t["description"]) for t in ends] == [
        ("ad39abccf79166956", "general-purpose", "beta work"),
        ("ac86c8dc02668f0fb", "general-purpose", "alpha work"),
    ]
    stops = [e for e in found if e["event"] == "subagent-end" and "tool" not in e]
    adapter = agents.get_client("claude-code")
    for stop in stops:
        path = adapter.locate_subagent_transcript(stop["transcript_path"], stop["agent_id"])
        assert path == stop["agent_transcript_path"]


def test_a_subagent_of_codex_has_its_own_transcript_and_starts_no_turn() -> None:
    found = events("codex", "subagent")
    spawned = next(e["tool"] for e in found if e["event"] == "tool-end")
    inside = [e for e in found if e.get("agent_id") == spawned["agent_id"]]
    assert [e["event"] for e in inside] == [
        "subagent-start",
        "tool-start",
        "tool-end",
        "subagent-end",
    ]
    assert all(e["agent_transcript_path"].endswith(f"{e['agent_id']}.jsonl") for e in inside)
    assert [e["event"] for e in found].count("turn-start") == 1


# Played without any hook of ours, a recording leaves the repository as the real agent left it.
LOGGED = sorted(
    f"{path.parent.parent.name}/{path.parent.name}"
    for path in RECORDINGS.rglob("meta.json")
    if "log" in json.loads(path.read_text())
)


def list_lines(repo: Path, *args: str) -> list[str]:
    return subprocess.check_output(["git", *args], cwd=repo, text=True).splitlines()


@pytest.mark.parametrize("scenario", LOGGED)
def test_files_and_commits_are_those_of_the_recording(scenario: str, tmp_path: Path) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    repo.mkdir()
    initial(repo)
    agent, _, name = scenario.partition("/")
    played = Replay(agent, name, repo, home, python="true")  # no hook of ours
    calls = played.run()

    meta = json.loads((RECORDINGS / scenario / "meta.json").read_text())
    made = list_lines(repo, "log", "--format=%s", "--stat=80")
    assert made[: made.index("initial")] == meta["log"][: meta["log"].index("initial")]
    assert list_lines(repo, "status", "--porcelain", "-uall") == [x for x in meta["status"] if x]
    assert calls[-1].event == "SessionEnd"
    for path, lines in played.transcripts().items():
        text, recorded = Path(path).read_text(), "".join(lines)
        assert len(text) <= len(recorded) and (text or not lines)
        assert TIMES.sub("", recorded[: len(text)]) == TIMES.sub("", text)


@pytest.mark.parametrize(
    "client", sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
)
def test_a_transcript_tells_its_client(client: str) -> None:
    paths = sorted((RECORDINGS / client).glob("*/transcript*.json*"))
    assert [p for p in paths if recognise_client(str(p)) != client] == []
    assert paths or client in ("kilo-code", "opencode")  # in databases
