"""Amp: a plugin that reports its events with Claude Code's names, by its documentation only.

The plugin asks Amp itself which files a call writes and which command it runs, so that no names of
tools are needed.  Its threads are not known.
"""

from __future__ import annotations

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload
    from gitcp.text.record_types import Tool


class Amp(agents.Client):
    NAME = "amp"
    AGENT_TYPE = "Amp"
    PROGRAM = "amp"
    FOLDERS = (".amp", ".config/amp")
    SETTINGS = {"shared": ".amp/plugins/gitcp.ts", "user": ".config/amp/plugins/gitcp.ts"}
    FORM = "plugin"
    PLUGIN = "amp/plugin.ts"
    SECONDS = 0  # the plugin waits
    UNTRIED = True
    SESSION_ENV = ("AMP_THREAD_ID",)
    RESUME = "amp threads continue {}"
    KINDS = {"write": "write", "shell": "shell"}
    EVENTS = agents.CORE

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call of a payload, of the kind and with the paths that Amp gives for it."""
        kinds = {payload.get_text("tool_name"): payload.get_text("kind") or "other"}
        tool = agents.read_tool(payload, kinds)
        paths = None
        if tool["kind"] == "write":
            paths = payload.get("input_paths")
        tool["input_paths"] = agents.resolve_paths(paths or (), cwd, "path")
        agents.add_response(tool, payload)
        return tool


CLIENT = Amp()
