"""Antigravity: its hooks after calls, by its documentation only
(doc/clients.md "Antigravity").

Its hook before a call must allow or deny the call, so it is not used.  No hook has the prompt, and
its transcript is not read.
"""

from __future__ import annotations

from gitcp import agents
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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

    def adapt(self, name: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """(the hook, its payload with Claude Code's keys).  PreInvocation begins a turn only before
        the first call of the model; Stop ends it only if the client is idle."""
        call = agents.get_object(fields, "toolCall")
        later = name == "PreInvocation" and fields.get("invocationNum") != 0
        busy = name == "Stop" and fields.get("fullyIdle") is False
        nameless = name == "PostToolUse" and not call
        arguments = {key: _unquote(value) for key, value in agents.get_object(call, "args").items()}
        return "" if later or busy or nameless else name, {
            "session_id": fields.get("conversationId"),
            "cwd": agents.get_first(fields, "workspacePaths"),
            "tool_name": call.get("name"),
            "tool_input": {
                **arguments,
                "command": arguments.get("CommandLine"),
                "content": arguments.get("CodeContent"),
            },
            "tool_error": fields.get("error"),
        }


def _unquote(value: object) -> object:
    """An argument without the second quotes of some versions."""
    if not isinstance(value, str) or value[:1] != '"':
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


CLIENT = Antigravity()
