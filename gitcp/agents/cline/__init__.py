"""Cline: its hooks, paths and payloads.

A hook is an executable file named by its event.  Those of every hook folder run, and gitcp has one
folder.  A headless prompt has no hook; it is in the session's file.
"""

from __future__ import annotations

import os

from gitcp.agents import list_files
from gitcp.agents.cline import transcript
from gitcp.agents.exchange import payload
from gitcp.core.message import prompts
from gitcp.core.transcript.facts import list_objects
from gitcp.core.transcript.transcript_scan import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Event, Tool

NAME = "cline"
AGENT_TYPE = "Cline"
PROGRAM = "cline"
FOLDERS = (".cline", ".clinerules")
ANSWERS = "cline"
FORM = "scripts"
SETTINGS = {"shared": ".clinerules/hooks", "user": ".cline/hooks"}  # folders
TRANSCRIPTS = ".cline/data/sessions"  # below it <id>/<id>.messages.json
RESUME = "cline --id {}"
KINDS = payload.make_kinds(
    write="editor apply_patch write_to_file replace_in_file",
    shell="run_commands execute_command",
    task="spawn_agent",
    read="""read_files read_file search_codebase search_files list_files list_code_definition_names
        fetch_web_content ask_question ask_followup_question plan_mode_respond
        attempt_completion""",
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
_PATHS = ("path", "file_path", "absolutePath")


def read_event(name: str, fields: dict[str, Any]) -> Event:
    """The record of a hook call; raises InputError for an invalid field."""
    event, parent = EVENTS.get(name), fields.get("parent_agent_id")
    if event is None or (parent is not None and event in ("turn-start", "turn-end")):
        return payload.make_unknown(NAME)
    context = payload.get_object(fields, "sessionContext")
    common = {
        "session_id": context.get("rootSessionId") or fields.get("taskId"),
        "cwd": payload.get_first(fields, "workspaceRoots"),
        "agent_id": fields.get("agent_id") if parent is not None else None,
        "last_assistant_message": payload.get_object(fields, "turn").get("outputText"),
    }
    if event == "turn-start":
        prompt = payload.get_object(fields, "userPromptSubmit").get("prompt")
        common["prompt"] = prompt or payload.get_object(fields, "taskStart").get("task")
        if isinstance(time := fields.get("timestamp"), str):
            common["turn_id"] = time
    record = payload.read_event(NAME, event, common)
    session_id = record["session_id"]
    path = os.path.join(os.path.expanduser("~"), TRANSCRIPTS, session_id, session_id)
    record["transcript_path"] = f"{path}.messages.json"
    if event == "turn-start" and not record["prompt"]:
        record["prompt"] = _read_prompt(f"{path}.json")
    if event in ("tool-start", "tool-end"):
        record["tool"] = _read_tool(fields, event, record["cwd"])
    return record


def _read_prompt(path: str) -> str:
    """The first prompt of a session, by its file; "" without one."""
    prompt = _load_file(path).get("prompt")
    return prompts.clean(prompt) if isinstance(prompt, str) else ""


def _load_file(path: str) -> dict[str, Any]:
    """The object in a file; {} if it cannot be read."""
    try:
        with open(path, "rb") as f:
            return load(f.read()) or {}
    except OSError:
        return {}


def _read_tool(fields: dict[str, Any], event: str, cwd: str) -> Tool:
    begins = event == "tool-start"
    call = payload.get_object(fields, "tool_call" if begins else "tool_result")
    details = payload.get_object(fields, "preToolUse" if begins else "postToolUse")
    arguments = payload.get_object(call, "input") or payload.get_object(details, "parameters")
    commands = arguments.get("commands")
    if isinstance(commands, list):
        arguments = {**arguments, "command": "\n".join(map(str, commands))}
    adapted = {
        "tool_name": call.get("name") or details.get("toolName"),
        "tool_input": arguments,
        "tool_use_id": call.get("id"),
        "duration_ms": call.get("durationMs"),
    }
    tool = payload.read_tool(adapted, KINDS, _PATHS, cwd)
    if tool["kind"] == "write" and not tool["input_paths"]:
        paths = transcript.list_written("apply_patch", arguments)
        tool["input_paths"] = payload.resolve_paths(paths, cwd, "apply_patch")
    payload.add_output(tool, *(part.get("result") for part in list_objects(call.get("output"))))
    tool["failed"] = bool(call.get("error")) or details.get("success") is False
    return tool


def list_conversations(home: str, cwd: str) -> list[str]:
    """The files with conversations of any directory."""
    return list_files(os.path.join(home, TRANSCRIPTS), ".messages.json")


def read_directory(path: str, _: str) -> str:
    """The directory of a conversation, by the file beside it; '' without one."""
    return str(_load_file(path.removesuffix(".messages.json") + ".json").get("cwd") or "")
