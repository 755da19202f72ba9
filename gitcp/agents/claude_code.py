"""Claude Code: its hooks, where it keeps things, and what its payloads mean (A§0.1, A§1.1)."""

from __future__ import annotations

import os

from gitcp.agents import payload as read
from gitcp.core.git import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.agents.payload import Event, Tool
    from gitcp.core.transcript.transcript_scan import Scan

NAME = "claude-code"
AGENT_TYPE = "Claude Code"
SESSION_ENV = ("CLAUDE_CODE_SESSION_ID",)
KINDS = {
    "Write": "write",
    "Edit": "write",
    "MultiEdit": "write",
    "NotebookEdit": "write",
    "mcp__acp__Write": "write",
    "mcp__acp__Edit": "write",
    "Bash": "shell",
    "Task": "task",
    "Agent": "task",
    "TodoWrite": "todo",
    "Read": "read",
    "Glob": "read",
    "Grep": "read",
}
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "turn-start",
    "PreToolUse": "tool-start",
    "PostToolUse": "tool-end",
    "PostToolUseFailure": "tool-end",
    "PostToolBatch": "tool-end",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-end",
    "Stop": "turn-end",
    "PreCompact": "compact",
    "SessionEnd": "session-end",
}
# A hook costs a process: only tools that write, or start something that does.
_START = "Write|Edit|MultiEdit|NotebookEdit|mcp__acp__Write|mcp__acp__Edit|Bash|Task|Agent"
# (client's event, matcher or None, seconds or None)
HOOKS = (
    ("SessionStart", None, None),
    ("UserPromptSubmit", None, None),
    ("PreToolUse", _START, None),
    ("PostToolUse", _START + "|TodoWrite", None),
    ("PostToolUseFailure", _START, None),
    ("SubagentStart", None, None),
    ("SubagentStop", None, None),
    ("Stop", None, None),
    ("PreCompact", None, None),
    ("SessionEnd", None, 10),  # ended after 1.5 s otherwise
)
_FAILED = ("<tool_use_error>", "PreToolUse:")  # how the text of a call that never ran begins


def settings_paths(home: str, top: str) -> dict[str, str]:
    """Where hooks can be installed: for this clone alone, for all its users, for the person."""
    return {
        "local": os.path.join(top, ".claude", "settings.local.json"),
        "shared": os.path.join(top, ".claude", "settings.json"),
        "user": os.path.join(home, ".claude", "settings.json"),
    }


def event(name: str, payload: dict[str, Any]) -> Event:
    """The record of a hook call; InputError names a field that cannot be right."""
    ours = EVENTS.get(name)
    if ours is None or (ours == "turn-start" and payload.get("agent_id") is not None):
        return read.unknown(NAME)
    found = read.event(NAME, ours, payload)
    if name == "PostToolBatch":
        found["tools"] = [_tool(c, found["cwd"]) for c in read.objects(payload, "tool_calls")]
    elif ours in ("tool-start", "tool-end"):
        tool = found["tool"] = _tool(payload, found["cwd"])
        tool["failed"] = name == "PostToolUseFailure"
        found["event"] = _refined(ours, tool, payload.get("tool_response"))
    return found


def _tool(payload: dict[str, Any], cwd: str) -> Tool:
    tool = read.tool(payload, KINDS, cwd)
    response = payload.get("tool_response")
    if tool["kind"] == "write":
        given = read.mapping(payload, "tool_input")
        tool["input_paths"] = read.paths(given, ("file_path", "notebook_path"), cwd)
    elif tool["kind"] == "task" and isinstance(response, dict) and response.get("agentId"):
        tool["agent_id"] = ids.component(response["agentId"], "agentId")
    tool["failed"] = isinstance(response, str) and response.startswith(_FAILED)
    return tool


def _refined(ours: str, tool: Tool, response: object) -> str:
    """A subagent left running in the background has not ended: SubagentStop will say so."""
    if tool["kind"] == "task":
        running = isinstance(response, dict) and response.get("isAsync") is True
        return "subagent-start" if ours == "tool-start" else ours if running else "subagent-end"
    done = tool["kind"] == "todo" and ours == "tool-end" and not tool["failed"]
    return "todo" if done else ours


def scan(data: bytes, start: int = 0, previous: Scan | None = None) -> Scan:
    """What a transcript says (gitcp.core.transcript.transcript_scan.Scan)."""
    from gitcp.core.transcript import claude

    return claude.scan(data, start, previous)


def session_dir(home: str, cwd: str) -> str:
    """The folder of the transcripts of sessions started in cwd; each is `<session id>.jsonl`."""
    project = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
    return os.path.join(home, ".claude", "projects", project)


def subagent_transcript(transcript_path: str, agent_id: str) -> str:
    """Where the transcript of a subagent is, given its session's; it need not be there."""
    name = f"agent-{ids.component(agent_id, 'agent_id')}.jsonl"
    now = os.path.join(transcript_path.removesuffix(".jsonl"), "subagents", name)
    before = os.path.join(os.path.dirname(transcript_path), name)  # older clients
    return before if not os.path.exists(now) and os.path.exists(before) else now


def resume_command(session_id: str) -> str:
    """What the person types to go on with a session."""
    return f"claude -r {session_id}"
