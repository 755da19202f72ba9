"""Windsurf's Cascade: its hooks and payloads, by its documentation only.

Its hooks report prompts, writes, commands, tools of MCP servers and answers.  Its transcript is not
known."""

from __future__ import annotations

import os

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Windsurf(agents.Client):
    NAME = "windsurf"
    AGENT_TYPE = "Windsurf"
    PROGRAM = "windsurf"
    FOLDERS = (".windsurf", ".codeium/windsurf")
    FORM = "windsurf"
    SETTINGS = {"shared": ".windsurf/hooks.json", "user": ".codeium/windsurf/hooks.json"}
    UNTRIED = True
    KINDS = {"write_code": "write", "run_command": "shell", "mcp_tool_use": "mcp"}
    EVENTS = {
        "pre_user_prompt": "turn-start",
        **{f"pre_{tool}": "tool-start" for tool in KINDS},
        **{f"post_{tool}": "tool-end" for tool in KINDS},
        "post_cascade_response": "turn-end",
    }

    def adapt(self, name: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """(the hook, its payload with Claude Code's keys)."""
        info = agents.get_object(fields, "tool_info")
        begins = self.EVENTS.get(name) == "turn-start"
        return name, {
            "session_id": fields.get("trajectory_id"),
            "cwd": info.get("cwd") or os.getcwd(),  # it starts hooks at the top of the workspace
            "model": fields.get("model_name"),
            "prompt": info.get("user_prompt"),
            "last_assistant_message": info.get("response"),
            "turn_id": fields.get("execution_id") if begins else None,
            "tool_name": name.partition("_")[2],
            "tool_input": {**info, "command": info.get("command_line")},
        }


CLIENT = Windsurf()
