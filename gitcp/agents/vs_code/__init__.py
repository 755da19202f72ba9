"""VS Code's own agent (its "Local" harness), by its documentation only.

It runs the hooks of Copilot CLI's and Claude Code's settings with its own payloads, which have
`hookEventName`, as otherwise only Grok Build's have.  Its other harnesses are Copilot CLI, Claude
Code and Codex, with their usual payloads.  Its transcript is not known.
"""

from __future__ import annotations

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload
    from gitcp.text.record_types import Tool


class VsCode(agents.Client):
    NAME = "vs-code"
    AGENT_TYPE = "VS Code"
    SETTINGS = {
        "shared": ".github/hooks/gitcp-vscode.json",
        "user": ".copilot/hooks/gitcp-vscode.json",
    }
    FORM = "vs-code"
    SECONDS = 30
    SWITCHES = {"chat.useHooks": False}
    SWITCH_FILES = (
        ".vscode/settings.json",
        ".config/Code/User/settings.json",
        ".config/Code - Insiders/User/settings.json",
        "Library/Application Support/Code/User/settings.json",
        "Library/Application Support/Code - Insiders/User/settings.json",
    )
    COVERED_BY = "copilot"
    UNTRIED = True
    KINDS = agents.make_kinds(
        write="""create_file replace_string_in_file multi_replace_string_in_file
            insert_edit_into_file apply_patch edit_notebook_file create_new_jupyter_notebook
            editFiles""",
        shell="run_in_terminal",
        task="runSubagent",
        read="read_file list_dir file_search grep_search semantic_search",
    )
    EVENTS = {
        **agents.omit_events("PostToolUseFailure", "SessionEnd"),
        "SubagentStart": "subagent-start",
    }
    PATHS = ("filePath", "file_path", "path")

    def is_own_payload(self, payload: Payload) -> bool:
        """False for a payload of Grok Build, which also runs this client's hooks."""
        return "hookEventName" in payload and "workspaceRoot" not in payload

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys and the hook that it names; a subagent's turn is
        ignored."""
        hook = payload.get_text("hookEventName") or payload.hook
        event = self.EVENTS.get(hook)
        if event in ("turn-start", "turn-end") and payload.get("agent_id") is not None:
            return payload.ignore()
        adapted = payload.send_to(hook).change(session_id=payload.get("sessionId"))
        if event == "turn-start":
            return adapted.change(turn_id=payload.get("timestamp"))
        return adapted

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call in a payload; raises InputError for an invalid field."""
        tool = super().read_tool(payload, cwd)
        arguments = payload.get_object("tool_input")
        if tool["kind"] == "write" and not tool["input_paths"]:
            paths = _list_replaced_paths(arguments)
            tool["input_paths"] = agents.resolve_paths(paths, cwd, "filePath")
        if tool["kind"] == "shell" and arguments.get("isBackground") is True:
            tool["background"] = True
        return tool


def _list_replaced_paths(arguments: Payload) -> list[str]:
    """The paths of a call that writes several files, each once."""
    replacements = arguments.get_objects("replacements")
    files = arguments.get("files")
    paths = [part.get("filePath") for part in replacements] + (files if type(files) is list else [])
    return list(dict.fromkeys(path for path in paths if isinstance(path, str)))


CLIENT = VsCode()
