"""Copilot CLI: its hooks, paths and payloads.

It also runs the hooks of Claude Code's settings, and spells their events in PascalCase and their
keys in snake_case; its own hooks have both in camelCase.  The two payloads of one event have the
same time, and the event counts once.  No call has an id: its two hooks are matched by their
arguments.
"""

from __future__ import annotations

import datetime
import os

from gitcp import agents
from gitcp.agents import Payload, resolve_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Tool

_CLAUDES = {"UserPromptSubmit": "userPromptSubmitted", "Stop": "agentStop"}


class Copilot(agents.Client):
    NAME = "copilot"
    AGENT_TYPE = "Copilot CLI"
    PROGRAM = "copilot"
    FOLDERS = (".copilot",)
    ENTIRES = ".github/hooks/entire.json"
    HOME_ENV = "COPILOT_HOME"
    SESSION_ENV = ("COPILOT_AGENT_SESSION_ID",)
    ANSWERS = "copilot"
    FORM = "copilot"
    SETTINGS = {"shared": ".github/hooks/gitcp.json", "user": ".copilot/hooks/gitcp.json"}
    TRANSCRIPTS = ".copilot/session-state"  # below it <id>/events.jsonl
    CONVERSATION = "events.jsonl"
    SECONDS = 30
    SWITCHES = {"disableAllHooks": True}
    SWITCH_FILES = (
        ".github/copilot/settings.local.json",
        ".github/copilot/settings.json",
        ".copilot/settings.json",
        ".copilot/config.json",
    )
    RESUME = "copilot --resume={}"
    BEGIN = "copilot -i {}"
    PARTS = ("transcript",)
    PROJECT_ENV = "CLAUDE_PROJECT_DIR"  # in the hooks of Claude Code's settings
    COVERED_BY = "claude-code"
    TRUST_NOTE = "runs hooks of a repository only in a folder that you told it to trust"
    KINDS = agents.make_kinds(
        write="create edit str_replace_editor apply_patch Write Edit MultiEdit",
        shell="bash powershell Bash",
        task="task Task Agent",
        read="""view glob grep rg web_fetch web_search ask_user report_intent update_todo read_bash
            stop_bash list_bash read_agent list_agents fetch_copilot_cli_documentation show_file
            store_memory skill Read Glob Grep WebFetch WebSearch TodoWrite""",
    )
    EVENTS = {
        "sessionStart": "session-start",
        "userPromptSubmitted": "turn-start",
        "preToolUse": "tool-start",
        "postToolUse": "tool-end",
        "postToolUseFailure": "tool-end",
        "subagentStart": "subagent-start",
        "subagentStop": "subagent-end",
        "agentStop": "turn-end",
        "preCompact": "compact",
        "sessionEnd": "session-end",
    }
    MATCHER = agents.build_matcher(KINDS, "read")
    PATHS = ("path", "file_path")

    def is_own_payload(self, payload: Payload) -> bool:
        """False for a payload of VS Code, which also runs this client's hooks."""
        return "hookEventName" not in payload

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys and the hook in Copilot's spelling; a subagent's turn
        is ignored."""
        hook = payload.hook
        hook = _CLAUDES.get(hook, hook[:1].lower() + hook[1:])
        fields = {_make_snake_case(key): value for key, value in payload.list_items()}
        event = self.EVENTS.get(hook)
        agent = fields.get("agent_id")
        if agent is not None and event in ("turn-start", "turn-end"):
            return payload.ignore()
        if agent is not None and fields.get("session_id") == agent:
            fields["session_id"] = fields.get("parent_agent_id")
        if event == "turn-start":
            fields["turn_id"] = _format_moment(fields.get("timestamp"))
        if not fields.get("transcript_path"):
            folder = resolve_path(os.path.expanduser("~"), self.TRANSCRIPTS, self.HOME_ENV)
            path = os.path.join(folder, str(fields.get("session_id")), "events.jsonl")
            fields["transcript_path"] = path
        return Payload(fields, hook)

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call of a payload, with an id by its arguments."""
        arguments = agents.load_input(
            payload, "tool_args" if "tool_args" in payload else "tool_input"
        )
        given = dict(arguments.list_items())
        call = payload.change(tool_input=given, tool_use_id=agents.name_call(given))
        tool = agents.read_tool(call, self.KINDS, self.PATHS, cwd)
        if tool["kind"] == "shell" and (
            arguments.get("mode") == "async" or arguments.get("detach")
        ):
            tool["background"] = True
        elif tool["kind"] == "task":
            tool["subagent_type"] = arguments.get_text("agent_type")
        result = payload.get_object("tool_result").list_items()
        _take_result(tool, Payload({_make_snake_case(key): value for key, value in result}))
        return tool


def _take_result(tool: Tool, result: Payload) -> None:
    tool["failed"] = "result_type" in result and result.get("result_type") != "success"
    agents.add_output(tool, result.get("text_result_for_llm"))
    shell = tool.get("output", "").partition("in background with shellId: ")[2]
    if shell:
        tool["background"] = True
        tool["background_id"] = shell.partition(">")[0].strip()


def _format_moment(stamp: object) -> str:
    """A time in ms, from any form; it identifies a prompt."""
    if isinstance(stamp, str):
        try:
            return f"{datetime.datetime.fromisoformat(stamp).timestamp() * 1000:.0f}"
        except ValueError:
            return ""
    return str(stamp) if isinstance(stamp, int) else ""


def _make_snake_case(key: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in key)


CLIENT = Copilot()
