"""Clients that are known by their documentation: its payloads, and what they lead to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from gitcp.errors import InputError
from tests.support.harness import World

amp, vs_code = map(agents.get_client, ("amp", "vs-code"))
Calls = list[tuple[str, dict[str, Any]]]
ASKED = "Write it down"


def grok_calls(top: str, path: str) -> Calls:
    common = {"sessionId": "01a0-grok", "cwd": top, "workspaceRoot": f"{top}/", "timestamp": "t"}
    call: dict[str, Any] = {"toolName": "write", "toolUseId": "call-1", "toolInputTruncated": False}
    call["toolInput"] = {"file_path": path, "content": "a\n"}
    prompt = {"promptId": "p-1", "prompt": f"<user_query>\n{ASKED}\n</user_query>"}
    told: Calls = [
        ("session_start", {"source": "new"}),
        ("user_prompt_submit", prompt),
        ("pre_tool_use", call),
        ("post_tool_use", {**call, "toolResult": {"type": "SearchReplace"}}),
        ("stop", {"reason": "end_turn", "lastAssistantMessage": "Done", "promptId": "p-1"}),
        ("session_end", {"reason": "shutdown"}),
        ("stop", {"reason": "shutdown"}),
    ]
    return [
        (
            "".join(word.capitalize() for word in name.split("_")),
            {"hookEventName": name, **common} | more,
        )
        for name, more in told
    ]


def devin_calls(top: str, path: str) -> Calls:
    call: dict[str, Any] = {"tool_name": "write", "tool_use_id": "write_0"}
    call |= {"tool_input": {"file_path": f"{top}/{path}", "content": "a\n"}}
    told: Calls = [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": ASKED}),
        ("PreToolUse", call),
        ("PostToolUse", {**call, "tool_response": {"success": True, "output": "", "error": None}}),
        ("Stop", {"stop_hook_active": False}),
    ]
    common = {"session_id": "snowy-efraasia", "prompt_id": "54697fcd"}
    return [(name, {"hook_event_name": name, **common, **more}) for name, more in told]


def openhands_calls(top: str, path: str) -> Calls:
    given = {"command": "create", "path": f"{top}/{path}", "file_text": "a\n", "old_str": None}
    call = {"tool_name": "file_editor", "tool_input": given}
    answer = {"content": [{"type": "text", "text": "created"}], "is_error": False}
    common = {"session_id": "e1603dd5-fc3c", "working_dir": top, "metadata": {}}
    told: Calls = [
        ("SessionStart", {}),
        ("UserPromptSubmit", {"message": ASKED}),
        ("PreToolUse", call),
        ("PostToolUse", {**call, "tool_response": answer}),
        ("Stop", {"metadata": {"reason": "agent_finished"}}),
        ("SessionEnd", {}),
    ]
    absent = dict.fromkeys(("tool_name", "tool_input", "tool_response", "message"))
    return [(name, {"event_type": name, **absent, **common, **more}) for name, more in told]


def auggie_calls(top: str, path: str) -> Calls:
    common = {"conversation_id": "c-auggie", "workspace_roots": [top]}
    call: dict[str, Any] = {"tool_name": "save-file", "is_mcp_tool": False}
    call |= {"tool_input": {"path": path, "file_content": "a\n"}}
    changed = [{"path": path, "changeType": "create", "content": "a\n"}]
    told: Calls = [
        ("SessionStart", {}),
        ("PromptSubmit", {"user_prompt": ASKED}),
        ("PreToolUse", call),
        ("PostToolUse", {**call, "tool_output": "ok", "tool_error": None, "file_changes": changed}),
        ("Stop", {"agent_stop_cause": "end_turn"}),
    ]
    return [(name, {"hook_event_name": name, **common, **more}) for name, more in told]


def crush_calls(top: str, path: str) -> Calls:
    call = {"tool_name": "write", "tool_input": {"file_path": path, "content": "a\n"}}
    told: Calls = [
        ("SessionStart", {}),
        ("TurnStart", {"prompt": ASKED}),
        ("PreToolUse", call),
        ("PostToolUse", call),
        ("TurnEnd", {}),
    ]
    return [
        (name, {"event": name, "session_id": "313909e", "cwd": top, **more}) for name, more in told
    ]


def antigravity_calls(top: str, path: str) -> Calls:
    common = {"conversationId": "ec33ebf9", "workspacePaths": [top], "transcriptPath": "/t.jsonl"}
    arguments = {"TargetFile": f'"{top}/{path}"', "CodeContent": '"a\\n"', "Overwrite": "true"}
    told: Calls = [
        ("PreInvocation", {"invocationNum": 0, "initialNumSteps": 1}),
        ("PreInvocation", {"invocationNum": 1, "initialNumSteps": 5}),
        ("PostToolUse", {"toolCall": {"name": "write_to_file", "args": arguments}, "stepIdx": 5}),
        ("Stop", {"executionNum": 1, "terminationReason": "model_stop", "fullyIdle": False}),
        ("Stop", {"executionNum": 1, "terminationReason": "model_stop", "fullyIdle": True}),
    ]
    return [(name, {**common, **more}) for name, more in told]


CALLS = {
    "antigravity": antigravity_calls,
    "auggie": auggie_calls,
    "crush": crush_calls,
    "devin": devin_calls,
    "grok-build": grok_calls,
    "openhands": openhands_calls,
}


def installed(world: World, name: str) -> dict[str, str]:
    """event -> the command that the client runs for it."""
    path = agents.get_client(name).list_settings_paths(str(world.home), str(world.path))
    found: dict[str, str] = {}

    def collect(value: Any) -> None:
        if isinstance(value, dict) and isinstance(value.get("command"), str):
            words = value["command"].partition(" # ")[0].split()
            found[words[-1].rstrip("'")] = value["command"]
        for one in value.values() if isinstance(value, dict) else value:
            if isinstance(one, dict | list):
                collect(one)

    collect(json.loads(Path(path.get("local") or path["shared"]).read_text()))
    return found


@pytest.mark.parametrize("name", CALLS)
def test_what_a_documented_client_writes_is_linked_with_what_it_was_asked(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, path = agents.get_client(name), f"{name}.txt"
    status = world.git("status", "--porcelain")
    world.gitcp("enable", f"--agent={name}")
    assert world.git("status", "--porcelain") == status
    commands = installed(world, name)
    assert sorted(commands) == sorted(hook for hook, *_ in client.list_hooks())
    if client.EXPANDS:
        assert not [command for command in commands.values() if "$" in command]
    for hook, given in CALLS[name](str(world.path), path):
        if hook == "PostToolUse":
            world.write(path, "a\n")
        done = subprocess.run(
            ["sh", "-c", commands[hook]],
            cwd=world.path,
            env={**os.environ, **world.env, "HOME": str(world.home)},
            input=json.dumps(given),
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), hook
    world.commit(path)
    assert len(world.ids("HEAD")) == 1
    why = world.gitcp("why", f"{path}:1")
    assert client.AGENT_TYPE in why and (ASKED in why) == (name != "antigravity")
    world.gitcp("disable", "--uninstall")
    assert world.git("status", "--porcelain") == status


@pytest.mark.parametrize(
    ("host", "calls", "name"),
    [
        ("claude-code", grok_calls, "grok-build"),
        ("cursor", grok_calls, "grok-build"),
        ("claude-code", devin_calls, "devin"),
    ],
)
def test_a_client_that_runs_the_hooks_of_another_is_known_by_what_it_tells(
    monkeypatch: pytest.MonkeyPatch, host: str, calls: Any, name: str
) -> None:
    monkeypatch.setenv("DEVIN_PROJECT_DIR", "/repo")
    for hook, given in calls("/repo", "a.txt"):
        client = agents.recognise(agents.get_client(host), given)
        assert name == client.NAME
        found = client.read_event("beforeSubmitPrompt" if host == "cursor" else hook, given)
        assert found["agent"] == name and found.get("cwd", "/repo") == "/repo"


def test_a_call_that_failed_by_the_words_of_its_client_has_failed() -> None:
    for name, event, calls, wrong in (
        ("openhands", "PostToolUse", openhands_calls, {"tool_response": {"is_error": True}}),
        ("devin", "PostToolUse", devin_calls, {"tool_response": {"success": False}}),
        ("auggie", "PostToolUse", auggie_calls, {"tool_error": "no such file"}),
        ("antigravity", "PostToolUse", antigravity_calls, {"error": "exit status 1"}),
        ("crush", "PostToolUseFailure", crush_calls, {}),
        (
            "grok-build",
            "PostToolUseFailure",
            grok_calls,
            {"hookEventName": "post_tool_use_failure"},
        ),
    ):
        given = dict(calls("/repo", "a.txt"))["PostToolUse"]
        client = agents.get_client(name)
        assert client.read_event("PostToolUse", given)["tool"]["input_paths"] == ["/repo/a.txt"]
        assert not client.read_event("PostToolUse", given)["tool"]["failed"]
        assert client.read_event(event, {**given, **wrong})["tool"]["failed"]


def test_a_client_that_its_hooks_may_stop_is_set_up_only_where_it_is_named(world: World) -> None:
    for folder in (".crush", ".augment"):
        (world.path / folder).mkdir()
    said = world.gitcp("enable")
    assert "Crush is left out" in said and "--agent=crush writes them" in said
    assert (world.path / ".augment" / "settings.local.json").exists()
    assert not (world.path / "crush.json").exists()


def windsurf_event(name: str, **info: Any) -> dict[str, Any]:
    common = {"agent_action_name": name, "trajectory_id": "t1", "execution_id": "e1"}
    return dict(agents.get_client("windsurf").read_event(name, {**common, "tool_info": info}))


def test_windsurf_tells_of_prompts_writes_commands_and_answers() -> None:
    asked = windsurf_event("pre_user_prompt", user_prompt="run it")
    assert (asked["event"], asked["session_id"], asked["prompt"]) == ("turn-start", "t1", "run it")
    assert asked["cwd"] == os.getcwd()
    edits = [{"old_string": "import os", "new_string": "import os\nimport sys"}]
    wrote = windsurf_event("post_write_code", file_path="/repo/file.py", edits=edits)
    assert (wrote["event"], wrote["tool"]["input_paths"]) == ("tool-end", ["/repo/file.py"])
    assert wrote["tool"]["edits"] == [("import os", "import os\nimport sys", False)]
    ran = windsurf_event("pre_run_command", command_line="npm install", cwd="/repo")
    assert (ran["event"], ran["cwd"]) == ("tool-start", "/repo")
    assert ran["tool"]["command"] == "npm install"
    answered = windsurf_event("post_cascade_response", response="done")
    assert (answered["event"], answered["last_message"]) == ("turn-end", "done")
    assert windsurf_event("post_read_code", file_path="/repo/x")["event"] == "unknown"
    with pytest.raises(InputError, match="'session_id'"):
        agents.get_client("windsurf").read_event("pre_user_prompt", {"tool_info": {}})


def vscode_payload(name: str, **more: Any) -> dict[str, Any]:
    common = {"timestamp": "2026-11-22T10:30:00.000Z", "cwd": "/repo", "sessionId": "v-1"}
    return {**common, "hookEventName": name, "transcript_path": "/t/v-1.json", **more}


@pytest.mark.parametrize(
    ("tool", "fields", "kind", "paths"),
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
    tool: str, fields: dict[str, Any], kind: str, paths: list[str]
) -> None:
    call = {"tool_name": tool, "tool_input": fields, "tool_use_id": "t-1"}
    found = vs_code.read_event("preToolUse", vscode_payload("PreToolUse", **call))
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
    client = agents.recognise(agents.get_client(host), asked)
    found = client.read_event("userPromptSubmitted", asked)
    assert (client.NAME, found["event"], found["prompt"]) == ("vs-code", "turn-start", "go")
    assert found["turn"] == asked["timestamp"]
    mine = {"sessionId": "c-1", "timestamp": 1, "cwd": "/repo", "prompt": "go"}
    assert agents.recognise(agents.get_client(host), mine).NAME == "copilot"


def test_amp_itself_says_which_files_a_call_writes_and_which_command_it_runs() -> None:
    common = {"session_id": "T-1", "cwd": "/repo", "tool_name": "edit_file", "tool_use_id": "t1"}
    wrote = {**common, "kind": "write", "input_paths": ["/repo/a.py"], "tool_input": {"path": "a"}}
    found = amp.read_event("PreToolUse", wrote)
    assert (found["event"], found["tool"]["input_paths"]) == ("tool-start", ["/repo/a.py"])
    ran = {**common, "kind": "shell", "tool_input": {"command": "make"}}
    found = amp.read_event("PostToolUse", {**ran, "tool_response": {"stdout": "ok", "error": True}})
    assert (found["tool"]["command"], found["tool"]["failed"]) == ("make", True)
    assert amp.read_event("PreToolUse", common)["tool"]["kind"] == "other"


def test_goose_speaks_of_a_prompt_and_of_a_call_in_other_keys() -> None:
    goose = agents.get_client("goose")
    given = {"event": "UserPromptSubmit", "session_id": "g-1", "message": "go"}
    asked = goose.read_event("UserPromptSubmit", given)
    assert (asked["event"], asked["prompt"], asked["cwd"]) == ("turn-start", "go", os.getcwd())
    given = {"session_id": "g-1", "working_dir": "/repo", "tool_call_id": "c-1"}
    edit = {"path": "a.py", "before": "x", "after": "y"}
    found = goose.read_event(
        "PostToolUse", {**given, "tool_name": "developer__edit", "tool_input": edit}
    )
    assert (found["tool"]["id"], found["tool"]["input_paths"]) == ("c-1", ["/repo/a.py"])
    assert [tuple(edit) for edit in found["tool"]["edits"]] == [("x", "y", False)]


def test_kiro_tells_of_a_turn_though_it_leaves_out_what_was_asked() -> None:
    kiro = agents.get_client("kiro")
    given = {"session_id": "sess_1", "hook_event_name": "UserPromptSubmit", "cwd": "/repo"}
    assert kiro.read_event("UserPromptSubmit", {**given, "prompt": ""})["prompt"] == ""
    call = {"tool_name": "fs_write", "tool_input": {"path": "a.py", "content": "a\n"}}
    found = kiro.read_event("PreToolUse", {**given, **call})
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
