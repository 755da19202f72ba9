"""Cursor: its hooks and payloads, by its documentation only.

It also runs the hooks of Claude Code's settings: the same session, turn and call are then reported
twice and count once.
"""

from __future__ import annotations

import os

from gitcp.agents import list_files
from gitcp.agents.exchange import payload
from gitcp.core.transcript.transcript_scan import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Event, Tool

NAME = "cursor"
AGENT_TYPE = "Cursor"
PROGRAM = "cursor-agent"
FOLDERS = (".cursor",)  # in home or in the worktree's root
UNSEEN = True
PROJECT_ENV = "CURSOR_PROJECT_DIR"
ANSWERS = "cursor"  # gitcp.agents.exchange.replies
FORM = "cursor"  # gitcp.agents.install.settings
SETTINGS = dict.fromkeys(("shared", "user"), ".cursor/hooks.json")
BY_PLACE = True
RESUME = "cursor-agent --resume {}"
TRUST = "runs hooks of a repository only in a workspace that you trust"
KINDS = {
    **dict.fromkeys(
        "Write Edit StrReplace MultiEdit EditNotebook ApplyPatch Delete".split(), "write"
    ),
    **dict.fromkeys("Shell Bash".split(), "shell"),
    **dict.fromkeys("Task Agent".split(), "task"),
    **dict.fromkeys(
        """Read ReadFile Glob Grep LS List Search SemanticSearch ReadLints WebSearch WebFetch
        AskQuestion SwitchMode TodoWrite""".split(),
        "read",
    ),
}
EVENTS = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "turn-start",
    "preToolUse": "tool-start",
    "postToolUse": "tool-end",
    "postToolUseFailure": "tool-end",
    "subagentStart": "subagent-start",
    "subagentStop": "subagent-end",
    "preCompact": "compact",
    "stop": "turn-end",
    "sessionEnd": "session-end",
}
_CLAUDES = {"UserPromptSubmit": "beforeSubmitPrompt"}
_TOOLS = payload.build_matcher(KINDS, "read")
# (client's event, matcher or None, None)
HOOKS = tuple((name, _TOOLS if "Tool" in name else None, None) for name in EVENTS)
_PATHS = ("file_path", "path", "target_file", "target_notebook")


def is_own(fields: dict[str, Any]) -> bool:
    """False for a payload of Grok Build, which also runs this client's hooks."""
    return "hookEventName" not in fields


def is_payload(fields: dict[str, Any]) -> bool:
    """Whether a payload for a hook of Claude Code is this client's."""
    return "cursor_version" in fields or (
        "conversation_id" in fields and "workspace_roots" in fields
    )


def read_event(name: str, fields: dict[str, Any]) -> Event:
    """The record of a hook call; raises InputError for an invalid field."""
    name = _CLAUDES.get(name, name[:1].lower() + name[1:])
    ours = EVENTS.get(name)
    if ours is None:
        return payload.make_unknown(NAME)
    roots = fields.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else None
    fields = {
        **fields,
        "session_id": fields.get("conversation_id") or fields.get("session_id"),
        "turn_id": fields.get("generation_id"),
        "cwd": fields.get("cwd") or root,
    }
    record = payload.read_event(NAME, ours, fields)
    if ours in ("tool-start", "tool-end"):
        tool = record["tool"] = _read_tool(name, fields, record["cwd"])
        record["event"] = payload.refine_event(ours, tool)
    return record


def _read_tool(name: str, fields: dict[str, Any], cwd: str) -> Tool:
    if isinstance(fields.get("tool_input"), str):
        fields["tool_input"] = load(fields["tool_input"].encode(errors="replace")) or {}
    if isinstance(fields.get("duration"), int):
        fields["duration_ms"] = fields["duration"]
    tool = payload.read_tool(fields, KINDS, _PATHS, cwd)
    payload.add_output(tool, fields.get("tool_output"))
    tool["failed"] = name == "postToolUseFailure"
    return tool


def locate_sessions(home: str, cwd: str) -> str:
    """The folder of the transcripts of sessions started in cwd."""
    project = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd).strip("-")
    return os.path.join(home, ".cursor", "projects", project, "agent-transcripts")


def list_conversations(home: str, cwd: str) -> list[str]:
    """The files with conversations of cwd, which their contents do not name."""
    return list_files(locate_sessions(home, cwd), ".jsonl")


def read_head(path: str) -> dict[str, str]:
    """The head of a transcript by its name: its lines have none (gitcp.agents.reading.edits)."""
    folder, name = os.path.split(path.removesuffix(".jsonl"))
    above, below = os.path.split(folder)
    parent = os.path.basename(above) if below == "subagents" else ""
    return {"session": name, "parent": parent, "agent": "", "cwd": ""}
