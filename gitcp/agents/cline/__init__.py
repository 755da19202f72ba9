"""Cline: its hooks, paths and payloads.

A hook is an executable file named by its event.  Those of every hook folder run, and gitcp has one
folder.  A headless prompt has no hook; it is in the session's file.
"""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents import Payload
from gitcp.agents.transcripts import load_entry
from gitcp.text import ids
from gitcp.text.json import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
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

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys; a subagent's turn is ignored."""
        event = self.EVENTS.get(payload.hook)
        parent = payload.get("parent_agent_id")
        if event is None or (parent is not None and event in ("turn-start", "turn-end")):
            return payload.ignore()
        root = payload.get_object("sessionContext").get("rootSessionId")
        session_id = ids.check_session_id(root or payload.get("taskId"))
        path = os.path.join(os.path.expanduser("~"), self.TRANSCRIPTS, session_id, session_id)
        adapted = {
            "session_id": session_id,
            "cwd": payload.get_first("workspaceRoots"),
            "agent_id": payload.get("agent_id") if parent is not None else None,
            "last_assistant_message": payload.get_object("turn").get("outputText"),
            "transcript_path": f"{path}.messages.json",
        }
        if event == "turn-start":
            prompt = payload.get_object("userPromptSubmit").get("prompt")
            prompt = prompt or payload.get_object("taskStart").get("task")
            first = _load_file(f"{path}.json").get("prompt")
            adapted["prompt"] = prompt or (first if isinstance(first, str) else "")
            if isinstance(payload.get("timestamp"), str):
                adapted["turn_id"] = payload.get("timestamp")
        elif event in ("tool-start", "tool-end"):
            adapted |= _adapt_call(payload, event)
        return Payload(adapted, payload.hook)

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call of an adapted payload."""
        tool = agents.read_tool(payload, self.KINDS, self.PATHS, cwd)
        agents.add_output(tool, *payload.get("result"))
        tool["failed"] = bool(payload.get("tool_error"))
        return tool

    def refine_event(self, event: str, tool: Tool, payload: Payload) -> str:
        """The event of a call; no hook of a subagent names the call that started it."""
        return event

    def read_directory(self, path: str, _: str) -> str:
        """The directory of a conversation, by the file beside it; '' without one."""
        return str(_load_file(path.removesuffix(".messages.json") + ".json").get("cwd") or "")


def _adapt_call(payload: Payload, event: str) -> dict[str, Any]:
    """The call of a payload with Claude Code's keys, and as `result` what came of it."""
    begins = event == "tool-start"
    call = payload.get_object("tool_call" if begins else "tool_result")
    details = payload.get_object("preToolUse" if begins else "postToolUse")
    given = call.get_object("input").list_items() or details.get_object("parameters").list_items()
    arguments = dict(given)
    commands = arguments.get("commands")
    if isinstance(commands, list):
        arguments["command"] = "\n".join(map(str, commands))
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
