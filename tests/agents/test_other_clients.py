"""What is peculiar to Copilot CLI, opencode, Qwen Code, Cline, Cursor and Windsurf.

The payloads of the last two are those of their documentation, not recorded ones.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents import amp, cline, copilot, cursor, opencode, qwen_code, vs_code, windsurf
from gitcp.agents.opencode import messages
from gitcp.errors import InputError
from tests.support import recording
from tests.support.harness import World

CURSOR = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "cursor_version": "2.4.0",
    "workspace_roots": ["/repo"],
    "hook_event_name": "preToolUse",
}
CLAUDE = {"session_id": "s1", "transcript_path": "/h/s1.jsonl", "cwd": "/repo"}


@pytest.mark.parametrize(
    ("given", "name"),
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
    given: dict[str, Any], name: str
) -> None:
    assert name == agents.recognise(agents.adapter("claude-code"), given).NAME
    assert agents.recognise(agents.adapter("codex"), given).NAME == "codex"


def test_every_recorded_payload_is_recognised() -> None:
    claude = agents.adapter("claude-code")
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
        one = copilot.event(name, {**mine, **more})
        two = copilot.event(hers, {**claudes, **other})
        for record in (one, two):
            record.get("tool", {}).pop("name", None)
        assert one == two
    assert one["tool"]["input_paths"] == ["/repo/a.py"]


def test_arguments_of_copilot_may_be_a_text_or_a_patch() -> None:
    common = {"sessionId": "s1", "cwd": "/repo"}
    patch = "*** Begin Patch\n*** Add File: n.txt\n+n\n*** End Patch\n"
    found = copilot.event("preToolUse", {**common, "toolName": "apply_patch", "toolArgs": patch})
    assert found["tool"]["input_paths"] == ["/repo/n.txt"]
    given = {**common, "toolName": "bash", "toolArgs": '{"command": "ls", "mode": "async"}'}
    tool = copilot.event("preToolUse", given)["tool"]
    assert (tool["command"], tool["background"]) == ("ls", True)
    with pytest.raises(InputError, match=r"^'tool_input' "):
        copilot.event("preToolUse", {**common, "toolName": "bash", "toolArgs": ["ls"]})


def test_the_start_and_the_end_of_a_call_of_copilot_meet_by_its_arguments() -> None:
    found = [copilot.event(*call) for call in recording.calls("copilot", "fail-parallel")]
    ids: dict[str, list[str]] = {"tool-start": [], "tool-end": []}
    for event in found:
        if "tool" in event:
            ids[event["event"]].append(event["tool"]["id"])
    assert sorted(ids["tool-start"]) == sorted(ids["tool-end"])
    assert len(set(ids["tool-start"])) == 9


def test_a_background_shell_of_copilot_is_named_at_its_end_and_by_its_notification() -> None:
    found = [copilot.event(*call) for call in recording.calls("copilot", "fail-parallel")]
    ends = [e["tool"] for e in found if e["event"] == "tool-end"]
    assert [t["background_id"] for t in ends if t.get("background")] == ["4"]
    ended = [e["ended_tasks"] for e in found if e.get("notification")]
    assert ended == [[{"id": "4", "tool_use_id": "", "status": "completed"}]]


def test_an_empty_prompt_of_qwen_code_is_no_turn_and_a_folder_no_transcript() -> None:
    common = {"session_id": "s1", "cwd": "/repo", "transcript_path": "/h/chats"}
    assert qwen_code.event("UserPromptSubmit", {**common, "prompt": ""})["event"] == "unknown"
    found = qwen_code.event("UserPromptSubmit", {**common, "prompt": "go"})
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
    assert opencode.prompt_of([{"type": "text", "text": text}]) == prompt


def test_a_subagent_of_opencode_is_its_parents() -> None:
    found = [opencode.event(*call) for call in recording.calls("opencode", "subagent")]
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
    found = cline.event("PreToolUse", given)
    assert (found["session_id"], found["tool"]["input_paths"]) == ("t1", ["/repo/a.py"])
    with pytest.raises(InputError, match=r"^'cwd' "):
        cline.event("PreToolUse", {**given, "workspaceRoots": []})


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
    found = cursor.event(name, {**CURSOR, **more})
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
    assert messages.append(str(db), "s1", str(out), done=False)
    assert [json.loads(line)["info"]["id"] for line in out.open()] == ["s1", "m1"]
    first = out.read_bytes()
    database(db, ("m1", {**ASKED, "later": 1}), ("m2", DONE), ("m3", BUSY))
    assert messages.append(str(db), "s1", str(out), done=False)
    assert messages.append(str(db), "s1", str(out), done=True)
    lines = [json.loads(line) for line in out.open()]
    assert [line["info"]["id"] for line in lines] == ["s1", "m1", "m2", "m3"]
    assert lines[2]["parts"][0]["text"] == "text of m2"
    assert out.read_bytes().startswith(first)
    assert (out.stat().st_mode & 0o777, out.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_line_that_a_kill_cut_short_is_written_anew(tmp_path: Path) -> None:
    db, out = tmp_path / "o.db", tmp_path / "s1.jsonl"
    database(db, ("m1", ASKED), ("m2", DONE))
    assert messages.append(str(db), "s1", str(out))
    whole = out.read_bytes()
    for size in (len(whole) - 5, whole.index(b"\n") + 1, 10, 0):
        out.write_bytes(whole[:size])
        assert messages.append(str(db), "s1", str(out))
        assert out.read_bytes() == whole


def test_a_database_that_is_locked_or_of_another_shape_is_let_alone(tmp_path: Path) -> None:
    db, out = tmp_path / "o.db", tmp_path / "s1.jsonl"
    assert not messages.append(str(db), "s1", str(out))
    database(db, ("m1", ASKED))
    assert not messages.append(str(db), "other", str(out))
    held = sqlite3.connect(db, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    assert not messages.append(str(db), "s1", str(out))
    held.execute("DROP TABLE part")
    held.execute("COMMIT")
    held.close()
    assert not messages.append(str(db), "s1", str(out))
    assert not out.exists()
    assert [name for name in os.listdir(tmp_path) if name.startswith("o.db")] == ["o.db"]


def windsurf_event(name: str, **info: Any) -> dict[str, Any]:
    common = {"agent_action_name": name, "trajectory_id": "t1", "execution_id": "e1"}
    return dict(windsurf.event(name, {**common, "tool_info": info}))


def test_windsurf_tells_of_prompts_writes_commands_and_answers() -> None:
    asked = windsurf_event("pre_user_prompt", user_prompt="run it")
    assert (asked["event"], asked["session_id"], asked["prompt"]) == ("turn-start", "t1", "run it")
    assert asked["cwd"] == os.getcwd()
    edits = [{"old_string": "import os", "new_string": "import os\nimport sys"}]
    wrote = windsurf_event("post_write_code", file_path="/repo/file.py", edits=edits)
    assert (wrote["event"], wrote["tool"]["input_paths"]) == ("tool-end", ["/repo/file.py"])
    assert wrote["tool"]["edits"] == [["import os", "import os\nimport sys", False]]
    ran = windsurf_event("pre_run_command", command_line="npm install", cwd="/repo")
    assert (ran["event"], ran["cwd"]) == ("tool-start", "/repo")
    assert ran["tool"]["command"] == "npm install"
    answered = windsurf_event("post_cascade_response", response="done")
    assert (answered["event"], answered["last_message"]) == ("turn-end", "done")
    assert windsurf_event("post_read_code", file_path="/repo/x")["event"] == "unknown"
    with pytest.raises(InputError, match="'session_id'"):
        windsurf.event("pre_user_prompt", {"tool_info": {}})


def vscode_payload(name: str, **more: Any) -> dict[str, Any]:
    common = {"timestamp": "2026-11-22T10:30:00.000Z", "cwd": "/repo", "sessionId": "v-1"}
    return {**common, "hookEventName": name, "transcript_path": "/t/v-1.json", **more}


@pytest.mark.parametrize(
    ("tool", "given", "kind", "paths"),
    [
        ("create_file", {"filePath": "/repo/a.py", "content": "a"}, "write", ["/repo/a.py"]),
        (
            "multi_replace_string_in_file",
            {"replacements": [{"filePath": "b"}, {"filePath": "c"}, {"filePath": "b"}]},
            "write",
            ["/repo/b", "/repo/c"],
        ),
        ("editFiles", {"files": ["src/main.ts"]}, "write", ["/repo/src/main.ts"]),
        ("run_in_terminal", {"command": "make", "isBackground": True}, "shell", []),
        ("read_file", {"filePath": "/repo/a.py"}, "read", []),
    ],
)
def test_a_call_of_vs_code_names_what_it_writes(
    tool: str, given: dict[str, Any], kind: str, paths: list[str]
) -> None:
    call = {"tool_name": tool, "tool_input": given, "tool_use_id": "t-1"}
    found = vs_code.event("preToolUse", vscode_payload("PreToolUse", **call))
    assert (found["event"], found["session_id"], found["tool"]["id"]) == (
        "tool-start",
        "v-1",
        "t-1",
    )
    assert (found["tool"]["kind"], found["tool"]["input_paths"]) == (kind, paths)
    assert found["tool"].get("background", False) == (kind == "shell")


@pytest.mark.parametrize("host", ["claude-code", "copilot", "vs-code"])
def test_vs_code_is_told_from_the_clients_whose_hooks_it_runs(host: str) -> None:
    asked = vscode_payload("UserPromptSubmit", prompt="go")
    client = agents.recognise(agents.adapter(host), asked)
    found = client.event("userPromptSubmitted", asked)
    assert (client.NAME, found["event"], found["prompt"]) == ("vs-code", "turn-start", "go")
    assert found["turn"] == asked["timestamp"]
    mine = {"sessionId": "c-1", "timestamp": 1, "cwd": "/repo", "prompt": "go"}
    assert agents.recognise(agents.adapter(host), mine).NAME == "copilot"


def test_amp_itself_says_which_files_a_call_writes_and_which_command_it_runs() -> None:
    common = {"session_id": "T-1", "cwd": "/repo", "tool_name": "edit_file", "tool_use_id": "t1"}
    wrote = {**common, "kind": "write", "input_paths": ["/repo/a.py"], "tool_input": {"path": "a"}}
    found = amp.event("PreToolUse", wrote)
    assert (found["event"], found["tool"]["input_paths"]) == ("tool-start", ["/repo/a.py"])
    ran = {**common, "kind": "shell", "tool_input": {"command": "make"}}
    found = amp.event("PostToolUse", {**ran, "tool_response": {"stdout": "ok", "error": True}})
    assert (found["tool"]["command"], found["tool"]["failed"]) == ("make", True)
    assert amp.event("PreToolUse", common)["tool"]["kind"] == "other"


def test_goose_speaks_of_a_prompt_and_of_a_call_in_other_keys() -> None:
    goose = agents.adapter("goose")
    given = {"event": "UserPromptSubmit", "session_id": "g-1", "message": "go"}
    asked = goose.event("UserPromptSubmit", given)
    assert (asked["event"], asked["prompt"], asked["cwd"]) == ("turn-start", "go", os.getcwd())
    given = {"session_id": "g-1", "working_dir": "/repo", "tool_call_id": "c-1"}
    edit = {"path": "a.py", "before": "x", "after": "y"}
    found = goose.event(
        "PostToolUse", {**given, "tool_name": "developer__edit", "tool_input": edit}
    )
    assert (found["tool"]["id"], found["tool"]["input_paths"]) == ("c-1", ["/repo/a.py"])
    assert [tuple(edit) for edit in found["tool"]["edits"]] == [("x", "y", False)]


def test_kiro_tells_of_a_turn_though_it_leaves_out_what_was_asked() -> None:
    kiro = agents.adapter("kiro")
    given = {"session_id": "sess_1", "hook_event_name": "UserPromptSubmit", "cwd": "/repo"}
    assert kiro.event("UserPromptSubmit", {**given, "prompt": ""})["prompt"] == ""
    call = {"tool_name": "fs_write", "tool_input": {"path": "a.py", "content": "a\n"}}
    found = kiro.event("PreToolUse", {**given, **call})
    assert (found["tool"]["kind"], found["tool"]["input_paths"]) == ("write", ["/repo/a.py"])


@pytest.mark.parametrize(
    ("name", "hooks"),
    [
        ("kiro", ".kiro/hooks/gitcp.json"),
        ("goose", ".agents/plugins/gitcp/hooks/hooks.json"),
        ("goose", ".agents/plugins/gitcp/plugin.json"),
        ("pi", ".pi/extensions/gitcp.ts"),
        ("amp", ".amp/plugins/gitcp.ts"),
    ],
)
def test_files_of_ours_are_written_taken_out_and_left_where_they_are_the_persons(
    world: World, name: str, hooks: str
) -> None:
    path = world.path / hooks
    world.gitcp("enable", f"--agent={name}")
    text = path.read_text()
    assert "gitcp enable" in text and world.git("status", "--porcelain") == ""
    if path.suffix == ".json":
        assert len(text.splitlines()) == 1 and json.loads(text)
    elif shutil.which("node"):
        path.with_suffix(".mjs").write_text(text)  # there are no types in it
        subprocess.run(["node", "--check", str(path.with_suffix(".mjs"))], check=True)
        path.with_suffix(".mjs").unlink()
    assert "nothing to do" in world.gitcp("enable", f"--agent={name}")
    world.gitcp("disable", "--uninstall")
    assert not path.exists()
    world.write(hooks, "mine\n")
    said = world.gitcp("enable", f"--agent={name}")
    assert f"was left as it is: move it, then 'gitcp enable --agent {name}'" in said
    assert path.read_text() == "mine\n"
