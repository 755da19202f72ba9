"""The calls of every client's tools in one spelling: that of Claude Code."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

STARTS = {"PreToolUse", "BeforeTool", "preToolUse", "tool.execute.before"}
ENDS = {
    *("PostToolUse", "PostToolUseFailure", "AfterTool", "postToolUse", "postToolUseFailure"),
    "tool.execute.after",
}
PROMPTS = {"UserPromptSubmit", "userPromptSubmitted", "chat.message", "TaskStart"}
LAST = {"SessionEnd", "sessionEnd", "dispose"}
# client's key -> Claude Code's
_KEYS = {
    "path": "file_path",
    "filePath": "file_path",
    "file_text": "content",
    "old_str": "old_string",
    "new_str": "new_string",
    "oldString": "old_string",
    "newString": "new_string",
}


def tool(payload: Json) -> str | None:
    """The name of the tool a payload is about; None where it is about none."""
    name = payload.get("tool_name") or payload.get("toolName") or _cline(payload).get("name")
    return name or (payload.get("input") or {}).get("tool")


def tool_input(payload: Json) -> Json:
    """The input of its call."""
    found = payload.get("tool_input", payload.get("toolArgs", _cline(payload).get("input")))
    if found is None:
        found = (payload.get("output") or {}).get("args") or payload["input"].get("args") or {}
    if isinstance(found, str):
        return {"command": found}
    if "commands" in found:
        return {"command": "\n".join(found["commands"])}
    return {_KEYS.get(key, key): value for key, value in found.items()}


def call(payload: Json) -> str:
    """What the start and the end of one call have in common."""
    key = payload.get("tool_use_id") or _cline(payload).get("id")
    key = key or (payload.get("input") or {}).get("callID")
    return str(key or json.dumps([tool(payload), tool_input(payload)], sort_keys=True))


_CLAUDES = {"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"}
_TOOLS = {"create": "Write", "edit": "Edit", "view": "Read", "bash": "Bash", "task": "Agent"}


def claudes(event: str, payload: Json) -> tuple[str, Json]:
    """What Copilot CLI gives to the hook of Claude Code's settings at an event of its own."""
    found = _snake(payload)
    if isinstance(found.get("timestamp"), int):
        moment = datetime.fromtimestamp(found["timestamp"] / 1000, UTC)
        found["timestamp"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if "tool_name" in found:
        found["tool_name"] = _TOOLS.get(found["tool_name"], found["tool_name"])
        found["tool_input"] = payload.get("toolArgs")
        found.pop("tool_args", None)
    if isinstance(found.get("tool_result"), dict):
        found["tool_result"] = _snake(found["tool_result"])
    return _CLAUDES.get(event, event[:1].upper() + event[1:]), found


def _snake(keys: Json) -> Json:
    return {re.sub("[A-Z]", lambda c: "_" + c[0].lower(), key): v for key, v in keys.items()}


def in_background(payload: Json) -> bool:
    """Whether the call goes on after its end event."""
    arguments = tool_input(payload)
    return bool(arguments.get("run_in_background") or arguments.get("mode") == "async")


def of_subagent(payload: Json) -> bool:
    return bool(payload.get("agent_id") or payload.get("agentId") or payload.get("parent"))


def session(payload: Json) -> str:
    """The session's id, a subagent's being its parent's."""
    context = payload.get("sessionContext") or {}
    found = payload.get("parentAgentId") or payload.get("parent") or context.get("rootSessionId")
    found = found or payload.get("session_id") or payload.get("sessionId")
    return str(found or payload["input"]["sessionID"])


def _cline(payload: Json) -> Json:
    found: Json = payload.get("tool_call") or {}
    answer = payload.get("tool_result")
    return answer if isinstance(answer, dict) and "input" in answer else found
