"""Windsurf's Cascade: its hooks and payloads, by its documentation only.

Its hooks report prompts, writes, commands, tools of MCP servers and answers.  Its transcript is not
known."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents import Payload


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

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys."""
        info = payload.get_object("tool_info")
        begins = self.EVENTS.get(payload.hook) == "turn-start"
        call = info.change(command=info.get("command_line"))
        fields = {
            "session_id": payload.get("trajectory_id"),
            "cwd": info.get("cwd") or os.getcwd(),  # it starts hooks at the top of the workspace
            "model": payload.get("model_name"),
            "prompt": info.get("user_prompt"),
            "last_assistant_message": info.get("response"),
            "turn_id": payload.get("execution_id") if begins else None,
            "tool_name": payload.hook.partition("_")[2],
            "tool_input": dict(call.list_items()),
        }
        return Payload(fields, payload.hook)


CLIENT = Windsurf()
