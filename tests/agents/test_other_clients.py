"""What is peculiar to Copilot CLI, opencode, Qwen Code, Cline and Cursor.

The payloads of the last are those of its documentation, not recorded ones.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents.opencode import extract_prompt, messages
from gitcp.errors import InputError
from tests.support import recording

cline, copilot, cursor, opencode = map(
    agents.get_client, ("cline", "copilot", "cursor", "opencode")
)
CURSOR = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "cursor_version": "2.4.0",
    "workspace_roots": ["/repo"],
    "hook_event_name": "preToolUse",
}
CLAUDE = {"session_id": "s1", "transcript_path": "/h/s1.jsonl", "cwd": "/repo"}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (CLAUDE, "claude-code"),
        ({**CLAUDE, "prompt_id": "p", "timestamp": "t"}, "claude-code"),
        ({**CLAUDE, "transcript_path": None}, "claude-code"),
        ({"session_id": "s1", "cwd": "/repo", "timestamp": "t"}, "copilot"),
        ({"sessionId": "s1", "cwd": "/repo"}, "copilot"),
        ({**CLAUDE, "transcript_path": "/h/.copilot/session-state/s1/events.jsonl"}, "copilot"),
        (CURSOR, "cursor"),
        ({**CURSOR, "transcript_path": None}, "cursor"),
        ({**CLAUDE, **CURSOR}, "cursor"),
    ],
)
def test_a_client_that_runs_claude_codes_hooks_is_known_by_its_payload(
    fields: dict[str, Any], name: str
) -> None:
    assert name == agents.recognise(agents.get_client("claude-code"), fields).NAME
    assert agents.recognise(agents.get_client("codex"), fields).NAME == "codex"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({**CLAUDE, "transcript_path": "/h/resumed.jsonl"}, "claude_code"),
        ({"sessionId": "s1", "cwd": "/repo"}, "copilot"),
        (CURSOR, "cursor"),
        ({"hookEventName": "stop"}, "vs_code"),
        ({"hookEventName": "stop", "workspaceRoot": "/repo"}, "grok_build"),
        ({"hook_event_name": "Stop"}, "devin"),
    ],
)
def test_recognising_a_payload_loads_no_third_client(fields: dict[str, Any], name: str) -> None:
    code = (
        "import sys; from gitcp import agents\n"
        f"agents.recognise(agents.get_client('claude-code'), {fields!r})\n"
        "print(*(m for m in agents.CLIENTS.values() if m in sys.modules))"
    )
    env = {**os.environ, "DEVIN_PROJECT_DIR": "/repo"}
    loaded = subprocess.run([sys.executable, "-c", code], env=env, stdout=-1, check=True).stdout
    assert {*loaded.decode().split()} == {"gitcp.agents.claude_code", f"gitcp.agents.{name}"}


def test_every_recorded_payload_is_recognised() -> None:
    claude = agents.get_client("claude-code")
    for agent, scenario in recording.SCENARIOS:
        if agent in ("claude-code", "copilot"):
            for _, given in recording.calls(agent, scenario):
                assert agent == agents.recognise(claude, given).NAME


def test_an_event_of_copilot_says_the_same_in_both_of_its_spellings() -> None:
    mine = {"sessionId": "s1", "timestamp": 1795263331000, "cwd": "/repo"}
    claudes = {"session_id": "s1", "timestamp": "2026-11-21T12:15:31.000Z", "cwd": "/repo"}
    edit = {"path": "a.py", "old_str": "x", "new_str": "y"}
    done = {"result_type": "success", "text_result_for_llm": "ok"}
    for name, hers, more, other in (
        ("userPromptSubmitted", "UserPromptSubmit", {"prompt": "go"}, {"prompt": "go"}),
        ("agentStop", "Stop", {}, {}),
        ("sessionStart", "SessionStart", {"source": "new"}, {"source": "new"}),
        (
            "postToolUse",
            "PostToolUse",
            {
                "toolName": "edit",
                "toolArgs": edit,
                "toolResult": {"resultType": "success", "textResultForLlm": "ok"},
            },
            {"tool_name": "Edit", "tool_input": edit, "tool_result": done},
        ),
    ):
        one = copilot.read_event(name, {**mine, **more})
        two = copilot.read_event(hers, {**claudes, **other})
        for record in (one, two):
            record.get("tool", {}).pop("name", None)
        assert one == two
    assert one["tool"]["input_paths"] == ["/repo/a.py"]


def test_arguments_of_copilot_may_be_a_text_or_a_patch() -> None:
    common = {"sessionId": "s1", "cwd": "/repo"}
    patch = "*** Begin Patch\n*** Add File: n.txt\n+n\n*** End Patch\n"
    found = copilot.read_event(
        "preToolUse", {**common, "toolName": "apply_patch", "toolArgs": patch}
    )
    assert found["tool"]["input_paths"] == ["/repo/n.txt"]
    given = {**common, "toolName": "bash", "toolArgs": '{"command": "ls", "mode": "async"}'}
    tool = copilot.read_event("preToolUse", given)["tool"]
    assert (tool["command"], tool["background"]) == ("ls", True)
    with pytest.raises(InputError, match=r"^'tool_args' "):
        copilot.read_event("preToolUse", {**common, "toolName": "bash", "toolArgs": ["ls"]})


def test_the_start_and_the_end_of_a_call_of_copilot_meet_by_its_arguments() -> None:
    found = [copilot.read_event(*call) for call in recording.calls("copilot", "fail-parallel")]
    ids: dict[str, list[str]] = {"tool-start": [], "tool-end": []}
    for event in found:
        if "tool" in event:
            ids[event["event"]].append(event["tool"]["id"])
    assert sorted(ids["tool-start"]) == sorted(ids["tool-end"])
    assert len(set(ids["tool-start"])) == 9


def test_a_background_shell_of_copilot_is_named_at_its_end_and_by_its_notification() -> None:
    found = [copilot.read_event(*call) for call in recording.calls("copilot", "fail-parallel")]
    ends = [e["tool"] for e in found if e["event"] == "tool-end"]
    assert [t["background_id"] for t in ends if t.get("background")] == ["4"]
    ended = [e["ended_tasks"] for e in found if e.get("notification")]
    assert ended == [[{"id": "4", "tool_use_id": "", "status": "completed"}]]


def test_an_empty_prompt_of_qwen_code_is_no_turn_and_a_folder_no_transcript() -> None:
    common = {"session_id": "s1", "cwd": "/repo", "transcript_path": "/h/chats"}
    qwen = agents.get_client("qwen-code")
    assert qwen.read_event("UserPromptSubmit", {**common, "prompt": ""})["event"] == "unknown"
    found = qwen.read_event("UserPromptSubmit", {**common, "prompt": "go"})
    assert found["transcript_path"] == "/h/chats/s1.jsonl"


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ('"Go on"', "Go on"),
        ('"say \\"hi\\" to me"', 'say "hi" to me'),
        ('"one" and "two"', '"one" and "two"'),
        ('"word"', '"word"'),
        ("Go on", "Go on"),
        ('"', '"'),
    ],
)
def test_quotes_that_opencode_puts_round_a_prompt_are_taken_off(text: str, prompt: str) -> None:
    assert extract_prompt([text]) == prompt


def test_a_subagent_of_opencode_is_its_parents() -> None:
    found = [opencode.read_event(*call) for call in recording.calls("opencode", "subagent")]
    inside = [e for e in found if "agent_id" in e]
    assert [e["event"] for e in inside] == ["tool-start", "tool-end"]
    assert {e["session_id"] for e in found if "session_id" in e} == {inside[0]["session_id"]}
    task = next(e["tool"] for e in found if e["event"] == "subagent-end")
    assert task["agent_id"] == inside[0]["agent_id"]


def test_a_cline_of_the_editor_speaks_of_tools_in_other_keys() -> None:
    given = {
        "taskId": "t1",
        "workspaceRoots": ["/repo"],
        "preToolUse": {"toolName": "write_to_file", "parameters": {"path": "a.py"}},
    }
    found = cline.read_event("PreToolUse", given)
    assert (found["session_id"], found["tool"]["input_paths"]) == ("t1", ["/repo/a.py"])
    with pytest.raises(InputError, match=r"^'cwd' "):
        cline.read_event("PreToolUse", {**given, "workspaceRoots": []})


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("sessionStart", {"composer_mode": "agent"}, "session-start"),
        ("beforeSubmitPrompt", {"prompt": "go"}, "turn-start"),
        ("preToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a"}}, "tool-start"),
        ("PreToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a"}}, "tool-start"),
        ("postToolUse", {"tool_name": "Shell", "tool_input": {"command": "ls"}}, "tool-end"),
        ("postToolUseFailure", {"tool_name": "Write", "tool_input": {"path": "a"}}, "tool-end"),
        ("postToolUse", {"tool_name": "Task", "tool_input": {}}, "subagent-end"),
        ("stop", {"status": "completed"}, "turn-end"),
        ("Stop", {"status": "aborted"}, "turn-end"),
        ("sessionEnd", {"reason": "completed"}, "session-end"),
        ("UserPromptSubmit", {"prompt": "go"}, "turn-start"),
        ("afterAgentThought", {}, "unknown"),
    ],
)
def test_cursors_documented_payloads_become_our_events(
    name: str, more: dict[str, Any], expected: str
) -> None:
    found = cursor.read_event(name, {**CURSOR, **more})
    assert found["event"] == expected
    if expected != "unknown":
        assert (found["session_id"], found["turn"], found["cwd"]) == ("c1", "g1", "/repo")
    if more.get("tool_name") == "Write":
        assert found["tool"]["input_paths"] == ["/repo/a"]


def database(path: Path, *messages: tuple[str, dict[str, Any]]) -> None:
    """A database of session s1 with messages (id, what opencode keeps of one)."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE session (id, directory, time_created, time_updated)")
        db.execute("INSERT INTO session VALUES ('s1', '/repo', 1, 2)")
        db.execute("CREATE TABLE message (id, session_id, data)")
        db.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for key, info in messages:
            db.execute("INSERT INTO message VALUES (?, 's1', ?)", (key, json.dumps(info)))
            text = json.dumps({"type": "text", "text": f"text of {key}"})
            db.execute("INSERT INTO part VALUES (?, ?, 's1', ?)", (f"p{key}", key, text))
    db.close()


ASKED = {"role": "user", "summary": {"diffs": []}}
BUSY: dict[str, Any] = {"role": "assistant", "time": {"created": 1}}
DONE = {"role": "assistant", "time": {"created": 1, "completed": 2}}


def test_messages_are_copied_once_and_an_unfinished_one_waits(tmp_path: Path) -> None:
    db, out = tmp_path / "o.db", tmp_path / "exports" / "s1.jsonl"
    database(db, ("m1", ASKED), ("m2", BUSY))
    assert messages.append_messages(str(db), "s1", str(out), done=False)
    assert [json.loads(line)["info"]["id"] for line in out.open()] == ["s1", "m1"]
    first = out.read_bytes()
    database(db, ("m1", {**ASKED, "later": 1}), ("m2", DONE), ("m3", BUSY))
    assert messages.append_messages(str(db), "s1", str(out), done=False)
    assert messages.append_messages(str(db), "s1", str(out), done=True)
    lines = [json.loads(line) for line in out.open()]
    assert [line["info"]["id"] for line in lines] == ["s1", "m1", "m2", "m3"]
    assert lines[2]["parts"][0]["text"] == "text of m2"
    assert out.read_bytes().startswith(first)
    assert (out.stat().st_mode & 0o777, out.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_line_that_a_kill_cut_short_is_written_anew(tmp_path: Path) -> None:
    db, out = tmp_path / "o.db", tmp_path / "s1.jsonl"
    database(db, ("m1", ASKED), ("m2", DONE))
    assert messages.append_messages(str(db), "s1", str(out))
    whole = out.read_bytes()
    for size in (len(whole) - 5, whole.index(b"\n") + 1, 10, 0):
        out.write_bytes(whole[:size])
        assert messages.append_messages(str(db), "s1", str(out))
        assert out.read_bytes() == whole


def test_a_database_that_is_locked_or_of_another_shape_is_let_alone(tmp_path: Path) -> None:
    db, out = tmp_path / "o.db", tmp_path / "s1.jsonl"
    assert not messages.append_messages(str(db), "s1", str(out))
    database(db, ("m1", ASKED))
    assert not messages.append_messages(str(db), "other", str(out))
    held = sqlite3.connect(db, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    assert not messages.append_messages(str(db), "s1", str(out))
    held.execute("DROP TABLE part")
    held.execute("COMMIT")
    held.close()
    assert not messages.append_messages(str(db), "s1", str(out))
    assert not out.exists()
    assert [name for name in os.listdir(tmp_path) if name.startswith("o.db")] == ["o.db"]
