"""Auggie (doc/clients.md "Auggie"): hooks like Claude Code's, with other keys.

Known from its documentation and its program, which does nothing without a login.  Its calls have
no ids, and the format of its conversations is not known.
"""

from __future__ import annotations

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload


class Auggie(agents.Client):
    NAME = "auggie"
    AGENT_TYPE = "Auggie"
    PROGRAM = "auggie"
    FOLDERS = (".augment",)
    SETTINGS = {
        "local": ".augment/settings.local.json",
        "shared": ".augment/settings.json",
        "user": ".augment/settings.json",
    }
    UNTRIED = True
    PROJECT_ENV = "AUGMENT_PROJECT_DIR"
    RESUME = "auggie --resume {}"
    BEGIN = "auggie {}"
    KEYS = {
        "conversation_id": "session_id",
        "user_prompt": "prompt",
        "tool_output": "tool_response",
        "is_mcp_tool": "mcp_context",
    }
    PATHS = ("path",)
    KINDS = agents.make_kinds(
        write="save-file str-replace-editor remove-files apply_patch",
        shell="launch-process",
        read="view grep-search codebase-retrieval web-search web-fetch",
    )
    EVENTS = {
        **agents.omit_events(
            "UserPromptSubmit", "PostToolUseFailure", "SubagentStop", "PreCompact"
        ),
        "PromptSubmit": "turn-start",
    }
    MATCHER = agents.build_matcher(KINDS, "read")

    def adapt(self, payload: Payload) -> Payload:
        """The payload with `cwd`, and with the path of the changed file where the input names
        none."""
        cwd = payload.get_first("workspace_roots") or payload.get("cwd")
        changes = payload.get_objects("file_changes")
        arguments = dict(payload.get_object("tool_input").list_items())
        if len(changes) == 1:
            arguments.setdefault("path", changes[0].get("path"))
        return payload.change(cwd=cwd, tool_input=arguments)


CLIENT = Auggie()
