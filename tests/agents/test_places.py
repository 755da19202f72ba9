"""Where each client keeps its settings and transcripts, and how a session is resumed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gitcp import agents
from gitcp.errors import InputError
from tests.support.harness import World
from tests.support.paths import TOP

claude_code, codex, gemini_cli = map(agents.get_client, ("claude-code", "codex", "gemini-cli"))


def test_transcripts_are_where_each_client_keeps_them(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert claude_code.locate_sessions(home, "/w/a_b.c") == f"{home}/.claude/projects/-w-a-b-c"
    assert codex.locate_sessions(home, "/w") == f"{home}/.codex/sessions"
    assert gemini_cli.locate_sessions(home, "/w/app") == f"{home}/.gemini/tmp/app/chats"
    projects = tmp_path / ".gemini" / "projects.json"
    projects.parent.mkdir()
    projects.write_text(json.dumps({"projects": {"/w/app": "app-2", "/w/bad": "../x"}}))
    assert gemini_cli.locate_sessions(home, "/w/app") == f"{home}/.gemini/tmp/app-2/chats"
    assert gemini_cli.locate_sessions(home, "/w/bad") == f"{home}/.gemini/tmp/bad/chats"


def rows() -> dict[str, list[str]]:
    """client -> the cells of its row in doc/clients.md "Where they keep things"."""
    text = (TOP / "doc" / "clients.md").read_text().partition("## How long")[0]
    lines = text.splitlines()
    cells = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines if "| " in line]
    return {row[0]: row[1:] for row in cells if row[0] in agents.list_names()}


@pytest.mark.parametrize("name", agents.list_names())
def test_the_table_of_places_is_what_is_looked_up_in_a_made_home(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, home = agents.get_client(name), str(tmp_path)
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    settings, transcripts, variable, managed, source = rows()[name]
    want = f"{home}/{settings}" if settings else None
    assert client.list_settings_paths(home, "/w").get("user") == want
    if transcripts and settings:
        assert f"{client.locate_sessions(home, '/w/app')}/".startswith(f"{home}/{transcripts}")
    assert [path for path in client.MANAGED if path not in managed] == [] and source
    assert client.HOME_ENV in variable
    if client.HOME_ENV:
        monkeypatch.setenv(client.HOME_ENV, f"{home}/moved")
        _, _, below = settings.partition("/")
        assert client.list_settings_paths(home, "/w")["user"] == f"{home}/moved/{below}"
        assert not transcripts or client.locate_sessions(home, "/w/app").startswith(
            f"{home}/moved/"
        )
        assert f"{home}/." not in "".join(client.list_conversations(home, "/w/app"))


def test_enable_for_a_person_follows_the_variable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(world.home / "moved"))
    world.env["CODEX_HOME"] = str(world.home / "moved")
    world.gitcp("enable", "--user", "--agent", "codex")
    assert "codex SessionEnd" in (world.home / "moved" / "hooks.json").read_text()
    assert not (world.home / ".codex").exists()
    world.gitcp("disable", "--user", "--uninstall")
    assert not (world.home / "moved" / "hooks.json").exists()


def test_a_subagent_transcript_of_an_older_claude_code_stands_beside_its_session(
    tmp_path: Path,
) -> None:
    session, old = str(tmp_path / "s1.jsonl"), tmp_path / "agent-a1.jsonl"
    new = str(tmp_path / "s1" / "subagents" / "agent-a1.jsonl")
    assert claude_code.locate_subagent_transcript(session, "a1") == new
    old.write_text("")
    assert claude_code.locate_subagent_transcript(session, "a1") == str(old)
    with pytest.raises(InputError, match="'agent_id'"):
        claude_code.locate_subagent_transcript(session, "../../x")


def test_a_subagent_transcript_of_codex_is_found_by_its_id(tmp_path: Path) -> None:
    session = str(tmp_path / "rollout-1-s1.jsonl")
    assert codex.locate_subagent_transcript(session, "a1") is None
    (tmp_path / "rollout-2-a1.jsonl").write_text("")
    assert codex.locate_subagent_transcript(session, "a1") == str(tmp_path / "rollout-2-a1.jsonl")
    assert codex.locate_subagent_transcript(str(tmp_path / "gone" / "x.jsonl"), "a1") is None


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("claude-code", "claude -r s1"),
        ("gemini-cli", "gemini --resume s1"),
        ("codex", "codex resume s1"),
        ("copilot", "copilot --resume=s1"),
        ("opencode", "opencode --session s1"),
        ("kilo-code", "kilo --session s1"),
        ("qwen-code", "qwen --resume s1"),
        ("cline", "cline --id s1"),
        ("cursor", "cursor-agent --resume s1"),
        ("factory-droid", "droid --resume s1"),
        ("pi", "pi --session s1"),
        ("openhands", "openhands --resume s1"),
    ],
)
def test_a_session_is_resumed_by_the_clients_own_command(name: str, command: str) -> None:
    assert agents.get_client(name).format_resume_command("s1") == command
    odd = agents.get_client(name).format_resume_command("s1; rm x")
    assert odd == command.replace("s1", "'s1; rm x'")


def test_the_settings_of_one_clone_alone_are_where_clients_read_any() -> None:
    paths = {
        name: agents.get_client(name).list_settings_paths("/h", "/r")
        for name in agents.list_names()
    }
    assert {name: found["local"] for name, found in paths.items() if "local" in found} == {
        "auggie": "/r/.augment/settings.local.json",
        "claude-code": "/r/.claude/settings.local.json",
        "devin": "/r/.devin/config.local.json",
    }


def test_a_conversation_is_open_while_its_client_runs_where_there_is_no_proc_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "exists", lambda path: not str(path).startswith("/proc"))
    listed = tmp_path / ".claude" / "sessions" / "1.json"
    listed.parent.mkdir(parents=True)
    with subprocess.Popen(["true"]) as ended:
        pass
    for pid, is_open in ((os.getpid(), True), (ended.pid, False), (-1, False), (2**70, False)):
        listed.write_text(json.dumps({"sessionId": "s1", "pid": pid}))
        assert claude_code.is_open(str(tmp_path), "s1") is is_open


@pytest.mark.parametrize(("agent", "path"), [
    ("opencode", "opencode/plugins/gitcp.js"), ("kilo-code", "kilo/plugin/gitcp.js"),
])  # fmt: skip
def test_the_plugin_of_a_person_goes_where_the_configuration_was_moved(
    world: World, monkeypatch: pytest.MonkeyPatch, agent: str, path: str
) -> None:
    moved = world.home / "moved"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(moved))
    world.env["XDG_CONFIG_HOME"] = str(moved)
    world.gitcp("enable", "--user", "--agent", agent)
    assert "gitcp-hook" in (moved / path).read_text()
    assert not (world.home / ".config" / path).exists()
    world.gitcp("disable", "--user", "--uninstall")
    assert not (moved / path).exists()
