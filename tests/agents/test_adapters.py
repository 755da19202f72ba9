"""What is asked of every adapter, and payloads that no recording has."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from gitcp.agents import answers
from gitcp.agents.claude_code import transcript
from gitcp.agents.reading import edits
from gitcp.agents.transcripts import Fields
from gitcp.errors import InputError
from tests.support.clients.matchers import matches
from tests.support.paths import DATA, TOP

claude_code, codex, gemini_cli = map(agents.get_client, ("claude-code", "codex", "gemini-cli"))
COMMON = {"session_id": "s1", "cwd": "/repo"}
PATCH = "*** Begin Patch\n*** Update File: a b.txt\n*** Move to: sub/../c.txt\n*** End Patch\n"


def call(name: str, fields: Any, **more: Any) -> dict[str, Any]:
    return {**COMMON, "tool_name": name, "tool_input": fields, "tool_use_id": "t1", **more}


def knows_matchers(name: str) -> bool:
    return any(matcher for _, matcher, _ in agents.get_client(name).list_hooks())


def test_an_adapter_is_found_by_its_name_and_by_the_agent_type_in_stored_data() -> None:
    for name in agents.list_names():
        found = agents.get_client(name)
        assert name == found.NAME
        assert name == agents.get_client(found.AGENT_TYPE).NAME


def test_a_client_is_its_class_in_whatever_module_the_table_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DATA / "made_up" / "adapter.py", tmp_path / "my_client.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(agents.CLIENTS, "made-up", "my_client")
    loaded = {name for name in sys.modules if name.startswith("gitcp.agents.")}
    client = agents.get_client("Made Up")
    assert {name for name in sys.modules if name.startswith("gitcp.agents.")} == loaded
    assert isinstance(client, agents.Client) and client is agents.find_client("made-up")
    payload = {"session_id": "s", "cwd": "/w", "tool_name": "put", "tool_input": {"where": "a"}}
    record = client.read_event("Before", payload)
    assert (record["event"], record["agent"]) == ("tool-start", "made-up")
    assert (record["tool"]["kind"], record["tool"]["input_paths"]) == ("write", ["/w/a"])
    assert [hook for hook, *_ in client.list_hooks()] == ["Ask", "Before", "After", "Rest"]
    assert agents.list_session_variables("Made Up")[0] == "MADE_UP_SESSION_ID"


def test_every_folder_of_a_client_is_in_the_table_and_its_class_is_named_once() -> None:
    folders = (TOP / "gitcp" / "agents").glob("*/__init__.py")
    shared = {"other", "reading", "transcripts"}
    found = {
        "gitcp.agents." + path.parent.name for path in folders if path.parent.name not in shared
    }
    assert found == set(agents.CLIENTS.values()) and list(agents.CLIENTS) == sorted(agents.CLIENTS)
    for name in agents.CLIENTS:
        client = agents.get_client(name)
        has = {path.stem for path in (TOP / "gitcp/agents" / name.replace("-", "_")).glob("*.py")}
        assert {"transcript", "cut", "head"} & has == set(client.PARTS), name


def test_a_git_hook_learns_a_session_by_its_own_clients_variable_and_ours() -> None:
    assert agents.list_session_variables("Codex") == ("CODEX_SESSION_ID", "GITCP_SESSION_ID")
    assert agents.list_session_variables("aider") == ("GITCP_SESSION_ID",)


def test_the_manual_lists_every_agent_with_where_its_hooks_lie() -> None:
    page = (TOP / "man" / "gitcp-enable.1").read_text().partition(".Ss Hooks of the agent")[2]
    items = page.partition(".El")[0].split(".It Cm ")[1:]
    assert [item.split()[0] for item in items] == list(agents.list_names())
    for item in items:
        paths = agents.get_client(item.split()[0]).list_settings_paths("/h", "")
        where = f".Pa {paths['shared']}" if paths else f".Ql gitcp run {item.split()[0]}"
        assert where in item


def test_an_unknown_agent_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InputError, match="'hal'; known are aider, amp, antigravity, auggie"):
        agents.get_client("hal")


@pytest.mark.parametrize("name", [name for name in agents.list_names() if knows_matchers(name)])
def test_the_hooks_of_every_tool_that_may_write_are_installed_and_of_no_other(name: str) -> None:
    client = agents.get_client(name)
    for event, matcher, _ in client.list_hooks():
        ours = client.EVENTS[event]
        assert (matcher is not None) == (ours in ("tool-start", "tool-end"))
        if matcher is None:
            continue
        for tool, kind in client.KINDS.items():
            ends = ours == "tool-end" and not event.endswith("Failure")
            wanted = kind != "read" and (kind != "todo" or ends)
            assert matches(matcher, tool) == wanted, (event, tool)
        assert matches(matcher, "mcp__db__migrate")
        assert matches(matcher, "NeverHeardOf") == (name != "codex")


def test_codexs_matcher_is_one_that_its_expressions_know() -> None:
    assert not [
        m for _, m, _ in codex.list_hooks() if m and ("(?!" in m or "(?=" in m or "(?<" in m)
    ]


def test_the_tools_that_write_are_the_same_in_events_and_transcripts() -> None:
    writes = [name for name, kind in claude_code.KINDS.items() if kind == "write"]
    assert writes == list(transcript.WRITES)


@pytest.mark.parametrize(
    ("adapter", "name"),
    [
        (claude_code, "Notification"),
        (gemini_cli, "PreCompress"),
        (gemini_cli, "BeforeModel"),
        (codex, "PermissionRequest"),
        (codex, "NeverHeardOf"),
    ],
)
def test_a_hook_that_means_nothing_to_us_is_unknown_whatever_it_holds(
    adapter: Any, name: str
) -> None:
    unknown = {"type": "event", "event": "unknown", "agent": adapter.NAME}
    assert adapter.read_event(name, {"session_id": 7}) == unknown


@pytest.mark.parametrize(
    ("field", "payload"),
    [
        ("session_id", {"cwd": "/repo"}),
        ("session_id", {"session_id": "../x", "cwd": "/repo"}),
        ("session_id", {"session_id": "-x", "cwd": "/repo"}),
        ("session_id", {"session_id": ["s1"], "cwd": "/repo"}),
        ("cwd", {"session_id": "s1"}),
        ("cwd", {"session_id": "s1", "cwd": "repo"}),
        ("cwd", {"session_id": "s1", "cwd": "/re\0po"}),
        ("transcript_path", {**COMMON, "transcript_path": 1}),
        ("transcript_path", {**COMMON, "transcript_path": "/\ud800"}),
        ("agent_id", {**COMMON, "agent_id": "a/b"}),
        ("tool_name", {**COMMON}),
        ("tool_input", call("Write", "x")),
        ("tool_use_id", call("Write", {}, tool_use_id="a/../b")),
        ("file_path", call("Write", {"file_path": 1})),
        ("file_path", call("Write", {"file_path": "a\0b"})),
        ("command", call("Bash", {"command": ["ls"]})),
        ("todos", call("TodoWrite", {"todos": ["x"]})),
        ("agentId", call("Agent", {}, tool_response={"agentId": "../x"})),
    ],
)
def test_a_field_that_cannot_be_right_is_named(field: str, payload: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^'{field}' "):
        claude_code.read_event("PostToolUse", payload)


def test_a_file_about_patches_is_what_was_written_and_no_patch() -> None:
    text = f"It begins with:\n{PATCH}"
    tool = claude_code.read_event("PreToolUse", call("Write", {"file_path": "/a", "content": text}))
    assert (tool["tool"]["input_paths"], tool["tool"]["content"]) == (["/a"], text)
    use = {"type": "tool_use", "id": "t", "name": "Write"}
    said = {"content": [{**use, "input": {"file_path": "/a", "content": text}}]}
    client = agents.get_client("claude-code")
    [edit] = edits.Reading(client, "/r").read_edits(
        [Fields({"type": "assistant", "message": said})]
    )
    assert (edit["path"], edit["tells"]) == ("/a", {"content": text})


def test_a_patch_of_cursor_names_its_paths() -> None:
    record = agents.get_client("cursor").read_event(
        "preToolUse", {**COMMON, "tool_name": "ApplyPatch", "tool_input": PATCH}
    )
    assert record["tool"]["input_paths"] == ["/repo/a b.txt", "/repo/c.txt"]


def test_a_result_that_is_no_text_of_utf_8_names_no_subagent() -> None:
    payload = call("spawn_agent", {"message": "go"}, tool_response='{"agent_id": "\ud800"')
    assert "agent_id" not in codex.read_event("PostToolUse", payload)["tool"]


@pytest.mark.parametrize(
    ("adapter", "event", "payload", "paths"),
    [
        (claude_code, "PreToolUse", call("Write", {"file_path": "/a/./b"}), ["/a/b"]),
        (claude_code, "PreToolUse", call("Edit", {"file_path": "src/x.py"}), ["/repo/src/x.py"]),
        (claude_code, "PreToolUse", call("NotebookEdit", {"notebook_path": "/n"}), ["/n"]),
        (claude_code, "PreToolUse", call("mcp__acp__Edit", {"file_path": "/m"}), ["/m"]),
        (claude_code, "PreToolUse", call("Read", {"file_path": "/r"}), []),
        (claude_code, "PreToolUse", call("mcp__else__Write", {"file_path": 3}), []),
        (gemini_cli, "BeforeTool", call("replace", {"file_path": "x"}), ["/repo/x"]),
        (gemini_cli, "BeforeTool", call("save_file", {"filename": "y"}), ["/repo/y"]),
        (codex, "PreToolUse", call("apply_patch", {"command": PATCH}), ["a b.txt", "c.txt"]),
        (
            codex,
            "PreToolUse",
            call("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF\n"}),
            ["a b.txt", "c.txt"],
        ),
        (codex, "PreToolUse", call("Bash", {"command": "echo '*** Add File: no'"}), []),
    ],
)
def test_paths_are_taken_from_what_each_tool_calls_them(
    adapter: Any, event: str, payload: dict[str, Any], paths: list[str]
) -> None:
    found = adapter.read_event(event, payload)["tool"]["input_paths"]
    assert found == [p if p.startswith("/") else f"/repo/{p}" for p in paths]


@pytest.mark.parametrize(
    ("name", "payload", "expected"),
    [
        ("PreToolUse", call("Task", {}), "subagent-start"),
        ("PostToolUse", call("Task", {}, tool_response={"agentId": "a1"}), "subagent-end"),
        ("PostToolUse", call("Agent", {}, tool_response={"isAsync": True}), "tool-end"),
        ("PostToolUseFailure", call("Agent", {}), "subagent-end"),
        ("PreToolUse", call("TodoWrite", {"todos": []}), "tool-start"),
        ("PostToolUse", call("TodoWrite", {"todos": [{"content": "x"}]}), "todo"),
        ("PostToolUseFailure", call("TodoWrite", {}), "tool-end"),
        ("UserPromptSubmit", {**COMMON, "agent_id": "a1", "prompt": "x"}, "unknown"),
    ],
)
def test_tasks_and_todos_have_events_of_their_own(
    name: str, payload: dict[str, Any], expected: str
) -> None:
    assert claude_code.read_event(name, payload)["event"] == expected


@pytest.mark.parametrize(
    ("adapter", "name", "kind"),
    [
        (claude_code, "mcp__db__migrate", "mcp"),
        (codex, "mcp__db__migrate", "mcp"),
        (gemini_cli, "mcp_db_migrate", "mcp"),
        (claude_code, "NeverHeardOf", "other"),
        (claude_code, "mcp__acp__Read", "read"),
        (claude_code, "AskUserQuestion", "read"),
    ],
)
def test_the_kind_of_a_tool_says_whether_it_may_write(adapter: Any, name: str, kind: str) -> None:
    before = next(n for n, ours in adapter.EVENTS.items() if ours == "tool-start")
    assert adapter.read_event(before, call(name, {}))["tool"]["kind"] == kind


def test_a_tool_of_a_gemini_server_is_known_by_its_context() -> None:
    given = call("migrate", {}, mcp_context={"server_name": "db"})
    assert gemini_cli.read_event("BeforeTool", given)["tool"]["kind"] == "mcp"


@pytest.mark.parametrize(
    ("adapter", "payload", "expected"),
    [
        (claude_code, call("Bash", {"run_in_background": True}), {"background": True}),
        (claude_code, call("Bash", {"run_in_background": False}), {}),
        (
            claude_code,
            call("Bash", {}, tool_response={"backgroundTaskId": "b1"}, duration_ms=7),
            {"background": True, "background_id": "b1", "duration_ms": 7},
        ),
        (
            claude_code,
            call("Bash", {}, tool_response={"stdout": "out", "stderr": "err"}),
            {"output": "out\nerr"},
        ),
        (claude_code, call("Bash", {}, is_interrupt=True), {"interrupted": True}),
        (claude_code, call("Bash", {}, duration_ms="7"), {}),
        (gemini_cli, call("run_shell_command", {"is_background": True}), {"background": True}),
        (
            gemini_cli,
            call("run_shell_command", {}, tool_response={"llmContent": "o"}),
            {"output": "o"},
        ),
        (codex, call("Bash", {}, tool_response="printed"), {"output": "printed"}),
        (codex, call("apply_patch", {}, tool_response="Exit code: 0\n"), {}),
    ],
)
def test_an_end_tells_how_long_a_call_took_and_whether_it_goes_on(
    adapter: Any, payload: dict[str, Any], expected: dict[str, Any]
) -> None:
    name = next(name for name, ours in adapter.EVENTS.items() if ours == "tool-end")
    tool = adapter.read_event(name, payload)["tool"]
    keys = "background background_id duration_ms output interrupted".split()
    assert {key: tool[key] for key in keys if key in tool} == expected


def test_a_notification_names_the_tasks_that_ended_and_a_stop_those_that_go_on() -> None:
    prompt = (
        "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>t1</tool-use-id>\n"
        "<status>completed</status>\n</task-notification>"
    )
    found = claude_code.read_event("UserPromptSubmit", {**COMMON, "prompt": prompt})
    ended = [{"id": "b1", "tool_use_id": "t1", "status": "completed"}]
    assert (found["notification"], found["ended_tasks"]) == (True, ended)
    running = {"id": "b2", "type": "shell", "status": "running", "command": "make"}
    found = claude_code.read_event("Stop", {**COMMON, "background_tasks": [running]})
    assert found["background_tasks"] == [{"id": "b2", "status": "running", "command": "make"}]
    with pytest.raises(InputError, match=r"^'background_tasks' "):
        claude_code.read_event("Stop", {**COMMON, "background_tasks": ["b2"]})


def test_a_refusal_is_in_the_words_each_client_understands() -> None:
    why = "no: it is taken"
    permission = {"permissionDecision": "deny", "permissionDecisionReason": why}
    nested = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **permission}}
    expected = {
        "claude-code": nested,
        "codex": nested,
        "qwen-code": nested,
        "gemini-cli": {"decision": "deny", "reason": why},
        "copilot": permission,
        "cursor": {
            "continue": False,
            "permission": "deny",
            "user_message": why,
            "agent_message": why,
        },
        "cline": {"cancel": True, "errorMessage": why},
    }
    others = [name for name in agents.list_names() if name not in expected]
    assert {agents.get_client(name).ANSWERS for name in others} == {"text", "plain"}
    expected |= dict.fromkeys(others)
    for name, answer in expected.items():
        out, err, status = answers.format_refusal(
            agents.get_client(name).ANSWERS, "tool-start", why
        )
        assert (err, status) == (why + "\n", 0 if name == "cline" else 2)
        assert (json.loads(out) if out else None) == answer
    assert answers.format_refusal("permission", "turn-start", why) == ("", why + "\n", 2)


def test_a_message_reaches_the_person_only_through_clients_that_show_one() -> None:
    shown = {
        name
        for name in agents.list_names()
        if answers.format_message(agents.get_client(name).ANSWERS, "hi")
    }
    assert shown == {"aider", "claude-code", "codex", "gemini-cli", "qwen-code"}


@pytest.mark.parametrize(
    ("adapter", "payload", "failed"),
    [
        (codex, call("apply_patch", {}, tool_response="Exit code: 0\nWall time: 0\n"), False),
        (codex, call("apply_patch", {}, tool_response="Exit code: 1\nWall time: 0\n"), True),
        (codex, call("Bash", {}, tool_response=""), False),
        (gemini_cli, call("replace", {}, tool_response={"error": {"message": "x"}}), True),
        (gemini_cli, call("replace", {}, tool_response={"llmContent": "x"}), False),
    ],
)
def test_a_tool_has_failed_when_its_client_says_so(
    adapter: Any, payload: dict[str, Any], failed: bool
) -> None:
    name = next(name for name, ours in adapter.EVENTS.items() if ours == "tool-end")
    assert adapter.read_event(name, payload)["tool"]["failed"] is failed


def test_a_prompt_is_cleaned_and_half_a_character_does_no_harm() -> None:
    given = {**COMMON, "prompt": "<system-reminder>no</system-reminder> fix \ud83d it"}
    found = claude_code.read_event("UserPromptSubmit", given)
    assert (found["prompt"], found["notification"]) == ("fix ? it", False)


def test_null_stands_for_absent() -> None:
    given = {**COMMON, "transcript_path": None, "agent_id": None, "prompt": "x", "source": None}
    assert codex.read_event("UserPromptSubmit", given) == {
        "type": "event",
        "event": "turn-start",
        "agent": "codex",
        "session_id": "s1",
        "cwd": "/repo",
        "notification": False,
        "prompt": "x",
    }
