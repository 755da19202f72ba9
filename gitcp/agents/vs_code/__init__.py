"""VS Code's own agent (its "Local" harness), by its documentation only.

It runs the hooks of Copilot CLI's and Claude Code's settings with its own payloads: only these and
Grok Build's have `hookEventName`.  Its other harnesses are Copilot CLI, Claude Code and Codex, with
their usual payloads.  Its transcript is not known.
"""

from __future__ import annotations

from gitcp.agents.exchange import claudes, payload
from gitcp.core.transcript import apply_patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import Event, Tool

NAME = "vs-code"
AGENT_TYPE = "VS Code"
SETTINGS = {"shared": ".github/hooks/gitcp-vscode.json", "user": ".copilot/hooks/gitcp-vscode.json"}
FORM = "vs-code"  # gitcp.agents.install.settings
SECONDS = 30  # the time-out of a hook
COVERED_BY = "copilot"
ANSWERS = "text"  # gitcp.agents.exchange.replies
UNSEEN = True
_WRITES = """create_file replace_string_in_file multi_replace_string_in_file insert_edit_into_file
    apply_patch edit_notebook_file create_new_jupyter_notebook editFiles"""
KINDS = {
    **dict.fromkeys(_WRITES.split(), "write"),
    "run_in_terminal": "shell",
    "runSubagent": "task",
    **dict.fromkeys("read_file list_dir file_search grep_search semantic_search".split(), "read"),
}
EVENTS = {**claudes.EVENTS, "SubagentStart": "subagent-start"}
del EVENTS["PostToolUseFailure"], EVENTS["SessionEnd"]
HOOKS = tuple((name, None, None) for name in EVENTS)  # it does not apply matchers
_PATHS = ("filePath", "file_path", "path")


def is_payload(fields: Mapping[str, Any]) -> bool:
    """Whether a payload for another client's hook is this one's."""
    return "hookEventName" in fields and "workspaceRoot" not in fields


is_own = is_payload


def read_event(name: str, fields: dict[str, Any]) -> Event:
    """The record of a hook call; raises InputError for an invalid field."""
    ours = EVENTS.get(payload.get_text(fields, "hookEventName") or name)
    agent = fields.get("agent_id")
    if ours is None or (agent is not None and ours in ("turn-start", "turn-end")):
        return payload.make_unknown(NAME)
    common = {**fields, "session_id": fields.get("sessionId")}
    if ours == "turn-start":
        common["turn_id"] = fields.get("timestamp")
    record = payload.read_event(NAME, ours, common)
    if ours in ("tool-start", "tool-end"):
        tool = record["tool"] = _read_tool(fields, record["cwd"])
        record["event"] = payload.refine_event(ours, tool)
    return record


def _read_tool(fields: dict[str, Any], cwd: str) -> Tool:
    tool = payload.read_tool(fields, KINDS, _PATHS, cwd)
    arguments = payload.get_object(fields, "tool_input")
    if tool["kind"] == "write" and not tool["input_paths"]:
        tool["input_paths"] = [
            payload.resolve_path(path, cwd, "filePath") for path in _list_written(arguments)
        ]
    if tool["kind"] == "shell" and arguments.get("isBackground") is True:
        tool["background"] = True
    payload.take_response(tool, fields.get("tool_response"))
    return tool


def _list_written(arguments: dict[str, Any]) -> list[str]:
    """The paths of a call with several: a patch, replacements, files."""
    if patch := payload.get_words(arguments, "input"):
        return apply_patch.list_paths(patch)
    replacements = payload.get_objects(arguments, "replacements")
    files = arguments.get("files")
    paths = [one.get("filePath") for one in replacements] + (files if type(files) is list else [])
    return list(dict.fromkeys(path for path in paths if isinstance(path, str)))
