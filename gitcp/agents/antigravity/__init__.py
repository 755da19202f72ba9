"""Antigravity: its hooks after calls, by its documentation only
(doc/clients.md "Antigravity").

Its hook before a call must allow or deny the call, so it is not used.  No hook has the prompt, and
its transcript is not read.
"""

from __future__ import annotations

from gitcp import agents
from gitcp.agents import Payload
from gitcp.text import json


class Antigravity(agents.Client):
    NAME = "antigravity"
    AGENT_TYPE = "Antigravity"
    PROGRAM = "agy"
    FOLDERS = (".gemini/antigravity-cli", ".gemini/antigravity")  # in home
    SETTINGS = {"shared": ".agents/hooks.json", "user": ".gemini/config/hooks.json"}
    FORM = "antigravity"
    SECONDS = 30
    UNTRIED = True
    RESUME = "agy --conversation {}"
    PATHS = ("TargetFile",)
    KINDS = agents.make_kinds(
        write="write_to_file replace_file_content multi_replace_file_content",
        shell="run_command",
        read="view_file list_dir grep_search search_web read_url_content",
    )
    EVENTS = {"PreInvocation": "turn-start", "PostToolUse": "tool-end", "Stop": "turn-end"}

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys.  PreInvocation begins a turn only before
        the first call of the model; Stop ends it only if the client is idle."""
        hook = payload.hook
        call = payload.get_object("toolCall")
        later = hook == "PreInvocation" and payload.get("invocationNum") != 0
        busy = hook == "Stop" and payload.get("fullyIdle") is False
        nameless = hook == "PostToolUse" and "name" not in call
        if later or busy or nameless:
            hook = ""
        arguments = {key: _unquote(value) for key, value in call.get_object("args").list_items()}
        fields = {
            "session_id": payload.get("conversationId"),
            "cwd": payload.get_first("workspacePaths"),
            "tool_name": call.get("name"),
            "tool_input": {
                **arguments,
                "command": arguments.get("CommandLine"),
                "content": arguments.get("CodeContent"),
            },
            "tool_error": payload.get("error"),
        }
        return Payload(fields, hook)


def _unquote(value: object) -> object:
    """An argument without the second quotes of some versions."""
    if not isinstance(value, str) or value[:1] != '"':
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


CLIENT = Antigravity()
