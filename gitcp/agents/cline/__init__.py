"""Cline: its hooks, paths and payloads.

A hook is an executable file named by its event.  Those of every hook folder run, and gitcp has one
folder.  A headless prompt has no hook; it is in the session's file.
"""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.transcripts import load_entry
from gitcp.text import ids
from gitcp.text.json import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.text.record_types import Tool


class Cline(agents.Client):
    NAME = "cline"
    AGENT_TYPE = "Cline"
    PROGRAM = "cline"
    FOLDERS = (".cline", ".clinerules")
    ANSWERS = "cline"
    FORM = "scripts"
    SETTINGS = {"shared": ".clinerules/hooks", "user": ".cline/hooks"}  # folders
    TRANSCRIPTS = ".cline/data/sessions"  # below it <id>/<id>.messages.json
    CONVERSATION = ".messages.json"
    RESUME = "cline --id {}"
    PARTS = ("transcript",)
    KINDS = agents.make_kinds(
        write="editor apply_patch write_to_file replace_in_file",
        shell="run_commands execute_command",
        task="spawn_agent",
        read="""read_files read_file search_codebase search_files list_files
            list_code_definition_names fetch_web_content ask_question ask_followup_question
            plan_mode_respond attempt_completion""",
    )
    EVENTS = {
        "TaskStart": "turn-start",
        "TaskResume": "turn-start",
        "UserPromptSubmit": "turn-start",
        "PreToolUse": "tool-start",
        "PostToolUse": "tool-end",
        "PreCompact": "compact",
        "TaskComplete": "turn-end",
        "TaskError": "turn-end",
        "TaskCancel": "turn-end",
        "SessionShutdown": "session-end",
    }
    PATHS = ("path", "file_path", "absolutePath")

    def adapt(self, name: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """(the hook, its payload with Claude Code's keys); hook "" for a subagent's turn."""
        event = self.EVENTS.get(name)
        parent = fields.get("parent_agent_id")
        if event is None or (parent is not None and event in ("turn-start", "turn-end")):
            return "", fields
        context = agents.get_object(fields, "sessionContext")
        session_id = ids.check_session_id(context.get("rootSessionId") or fields.get("taskId"))
        path = os.path.join(os.path.expanduser("~"), self.TRANSCRIPTS, session_id, session_id)
        adapted = {
            "session_id": session_id,
            "cwd": agents.get_first(fields, "workspaceRoots"),
            "agent_id": fields.get("agent_id") if parent is not None else None,
            "last_assistant_message": agents.get_object(fields, "turn").get("outputText"),
            "transcript_path": f"{path}.messages.json",
        }
        if event == "turn-start":
            prompt = agents.get_object(fields, "userPromptSubmit").get("prompt")
            prompt = prompt or agents.get_object(fields, "taskStart").get("task")
            first = _load_file(f"{path}.json").get("prompt")
            adapted["prompt"] = prompt or (first if isinstance(first, str) else "")
            if isinstance(time := fields.get("timestamp"), str):
                adapted["turn_id"] = time
        elif event in ("tool-start", "tool-end"):
            adapted |= _adapt_call(fields, event)
        return name, adapted

    def read_tool(self, name: str, fields: dict[str, Any], cwd: str) -> Tool:
        """The call of an adapted payload."""
        tool = agents.read_tool(fields, self.KINDS, self.PATHS, cwd)
        agents.add_output(tool, *fields["result"])
        tool["failed"] = bool(fields["tool_error"])
        return tool

    def refine_event(self, event: str, tool: Tool, fields: Mapping[str, Any]) -> str:
        """The event of a call; no hook of a subagent names the call that started it."""
        return event

    def read_directory(self, path: str, _: str) -> str:
        """The directory of a conversation, by the file beside it; '' without one."""
        return str(_load_file(path.removesuffix(".messages.json") + ".json").get("cwd") or "")


def _adapt_call(fields: dict[str, Any], event: str) -> dict[str, Any]:
    """The call of a payload with Claude Code's keys, and as `result` what came of it."""
    begins = event == "tool-start"
    call = agents.get_object(fields, "tool_call" if begins else "tool_result")
    details = agents.get_object(fields, "preToolUse" if begins else "postToolUse")
    arguments = agents.get_object(call, "input") or agents.get_object(details, "parameters")
    commands = arguments.get("commands")
    if isinstance(commands, list):
        arguments = {**arguments, "command": "\n".join(map(str, commands))}
    return {
        "tool_name": call.get("name") or details.get("toolName"),
        "tool_input": arguments,
        "tool_use_id": call.get("id"),
        "duration_ms": call.get("durationMs"),
        "tool_error": call.get("error") or details.get("success") is False,
        "result": [part.get("result") for part in list_objects(call.get("output"))],
    }


def _load_file(path: str) -> dict[str, Any]:
    """The object in a file; {} if it cannot be read."""
    try:
        with open(path, "rb") as f:
            return load_entry(f.read()) or {}
    except OSError:
        return {}


CLIENT = Cline()
