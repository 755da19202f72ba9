"""Qwen Code: hooks as Claude Code's, tools as Gemini CLI's.

Headless it has no session start and no end; after each tool's result it submits an empty
prompt, which is no turn.
"""

from __future__ import annotations

import os

from gitcp.agents import claude_code, list_files
from gitcp.agents.exchange import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Event

NAME = "qwen-code"
AGENT_TYPE = "Qwen Code"
PROGRAM = "qwen"
FOLDERS = (".qwen",)  # its configuration, at home or at the top
SESSION_ENV = ()  # its shell has QWEN_CODE=1 and no session
PROJECT_ENV = "GEMINI_PROJECT_DIR"
ANSWERS = "permission"  # gitcp.agents.exchange.replies
FORM = "commented"  # gitcp.agents.install.settings
SETTINGS = dict.fromkeys(("shared", "user"), ".qwen/settings.json")
BY_PLACE = True
RESUME = "qwen --resume {}"
KINDS = {
    **dict.fromkeys("write_file edit replace notebook_edit".split(), "write"),
    "run_shell_command": "shell",
    **dict.fromkeys("task agent".split(), "task"),
    "todo_write": "todo",
    **dict.fromkeys(
        """read_file read_many_files list_directory glob grep_search search_file_content
        web_fetch web_search google_web_search ask_user_question enter_plan_mode exit_plan_mode
        skill tool_search lsp""".split(),
        "read",
    ),
}
EVENTS = {name: claude_code.EVENTS[name] for name, *_ in claude_code.HOOKS}
_START = payload.build_matcher(KINDS, "read", "todo")
_TOOLS = {
    "PreToolUse": _START,
    "PostToolUse": payload.build_matcher(KINDS, "read"),
    "PostToolUseFailure": _START,
}
# (client's event, matcher or None, milliseconds or None)
HOOKS = tuple((name, _TOOLS.get(name), None) for name in EVENTS)
_PATHS = ("file_path", "path", "notebook_path")


def read_event(name: str, fields: dict[str, Any]) -> Event:
    """The record of a hook call; InputError names a field that cannot be right."""
    ours = EVENTS.get(name)
    typed = fields.get("agent_id") is None and fields.get("prompt")
    if ours is None or (ours == "turn-start" and not typed):
        return payload.make_unknown(NAME)
    record = payload.read_event(NAME, ours, fields)
    path = record.get("transcript_path", "")
    if path and not path.endswith(".jsonl"):  # the folder of all transcripts
        record["transcript_path"] = os.path.join(path, record["session_id"] + ".jsonl")
    if ours in ("tool-start", "tool-end"):
        tool = record["tool"] = payload.read_tool(fields, KINDS, _PATHS, record["cwd"])
        payload.take_response(tool, fields.get("tool_response"))
        tool["failed"] = tool["failed"] or name == "PostToolUseFailure"
        record["event"] = payload.refine_event(ours, tool)
    return record


def locate_sessions(home: str, cwd: str) -> str:
    """The folder of the transcripts of sessions started in cwd; each is `<session id>.jsonl`."""
    project = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
    return os.path.join(home, ".qwen", "projects", project, "chats")


def list_conversations(home: str, cwd: str) -> list[str]:
    """The files with conversations that may have been held in cwd or below it."""
    folder, slug = os.path.split(os.path.dirname(locate_sessions(home, cwd)))
    return list_files(folder, ".jsonl", prefix=slug)
