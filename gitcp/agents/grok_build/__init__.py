"""Grok Build: hooks as Claude Code's with its own keys, by its documentation only
(doc/clients.md "Grok Build").

It also runs the hooks of Claude Code's and of Cursor's settings.  Its transcript is not known.
"""

from __future__ import annotations

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.agents import Files, Payload

_LIMIT = 60  # seconds


class GrokBuild(agents.Client):
    NAME = "grok-build"
    AGENT_TYPE = "Grok Build"
    PROGRAM = "grok"
    FOLDERS = (".grok",)
    HOME_ENV = "GROK_HOME"
    SETTINGS = dict.fromkeys(("shared", "user"), ".grok/hooks/gitcp.json")
    FORM = "files"
    EXPANDS = True
    SECONDS = 5
    UNTRIED = True
    PROJECT_ENV = "GROK_WORKSPACE_ROOT"
    COVERED_BY = "claude-code"
    TRUST_NOTE = "runs hooks of a repository only in a folder that you told it to trust"
    RESUME = "grok --resume {}"
    KEYS = {
        "sessionId": "session_id",
        "promptId": "turn_id",
        "toolName": "tool_name",
        "toolInput": "tool_input",
        "toolUseId": "tool_use_id",
        "toolResult": "tool_response",
        "lastAssistantMessage": "last_assistant_message",
    }
    KINDS = agents.make_kinds(
        write="write search_replace",
        shell="run_terminal_command",
        task="spawn_subagent",
        read="read_file list_dir grep web_search web_fetch",
    )
    EVENTS = {
        **agents.EVENTS,
        **dict.fromkeys(("StopCancelled", "StopFailure"), "turn-end"),
    }
    # It ignores matchers of some events, and supports no lookahead: there are none.
    LIMITS = dict.fromkeys(EVENTS, _LIMIT)

    def adapt(self, payload: Payload) -> Payload:
        """The payload with the hook that it names.  A Stop at the end of a session is ignored."""
        words = payload.get_text("hookEventName").split("_")
        prompt = payload.get_words("prompt")
        inner = prompt.partition("<user_query>")[2].partition("</user_query>")[0]
        adapted = payload.change(prompt=inner.strip() or prompt)
        hook = "".join(word.capitalize() for word in words) or payload.hook
        if hook == "Stop" and payload.get("reason") not in (None, "end_turn"):
            return payload.ignore()
        return adapted.send_to(hook)

    def build_files(self, path: str, command: Callable[[str], str]) -> Files:
        """The file of hooks."""
        return {path: agents.nest_hooks(self.EVENTS, command, _LIMIT)}


CLIENT = GrokBuild()
