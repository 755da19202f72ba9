"""Claude Code: its hooks, paths and payloads
(doc/clients.md "Claude Code")."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents import resolve_path
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload
    from gitcp.text.record_types import Tool

_LONGEST = 200  # characters of the name of a project's folder
# In PostToolBatch, a result that begins so is of a call that failed.
_FAILED = ("<tool_use_error>", "PreToolUse:")


class ClaudeCode(agents.Client):
    NAME = "claude-code"
    AGENT_TYPE = "Claude Code"
    PROGRAM = "claude"
    FOLDERS = (".claude",)
    HOME_ENV = "CLAUDE_CONFIG_DIR"
    SWITCHES = {"disableAllHooks": True}
    MANAGED_SWITCHES = {"allowManagedHooksOnly": True}
    DISTRUST = ".claude.json", "projects", "hasTrustDialogAccepted", False
    MANAGED = (
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    )
    SESSION_ENV = ("CLAUDE_CODE_SESSION_ID",)
    PROJECT_ENV = "CLAUDE_PROJECT_DIR"
    ANSWERS = "permission"
    SETTINGS = {
        "local": ".claude/settings.local.json",
        "shared": ".claude/settings.json",
        "user": ".claude/settings.json",
    }
    TRANSCRIPTS = ".claude/projects"
    DELETION_DAYS = ("cleanupPeriodDays", 30)
    RESUME = "claude -r {}"
    BEGIN = "claude {}"
    PARTS = ("transcript", "cut")
    KINDS = agents.make_kinds(
        write="Write Edit MultiEdit NotebookEdit mcp__acp__Write mcp__acp__Edit",
        shell="Bash PowerShell",
        task="Task Agent",
        todo="TodoWrite",
        read="""Read Glob Grep LS NotebookRead LSP ToolSearch WebFetch WebSearch AskUserQuestion
            EnterPlanMode ExitPlanMode BashOutput KillShell KillBash AgentOutputTool TaskOutput
            TaskStop TaskCreate TaskGet TaskList TaskUpdate SendMessage Skill ListMcpResourcesTool
            ReadMcpResourceTool mcp__acp__Read""",
    )
    EVENTS = {
        "SessionStart": "session-start",
        "UserPromptSubmit": "turn-start",
        "PreToolUse": "tool-start",
        "PostToolUse": "tool-end",
        "PostToolUseFailure": "tool-end",
        "PostToolBatch": "tool-end",
        "SubagentStart": "subagent-start",
        "SubagentStop": "subagent-end",
        "Stop": "turn-end",
        "PreCompact": "compact",
        "SessionEnd": "session-end",
    }
    # A hook costs a process, so tools that write nothing get none.  A matcher with other characters
    # than letters and `|` is a regular expression.
    _START = agents.build_matcher(KINDS, "read", "todo")
    MATCHERS = {
        "PreToolUse": _START,
        "PostToolUse": agents.build_matcher(KINDS, "read"),
        "PostToolUseFailure": _START,
    }
    LIMITS = {"SessionEnd": 10}  # seconds; the client's default is 1.5
    NOT_HOOKED = ("PostToolBatch",)  # the calls of a batch have their own events

    def is_own_payload(self, payload: Payload) -> bool:
        """Whether a payload is certainly this client's: other clients run its hooks, too."""
        name = f"{payload.get('session_id')}.jsonl"
        has_name = str(payload.get("transcript_path")).endswith(name)
        return has_name and "conversation_id" not in payload

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call of a payload, or one of the calls of a batch."""
        tool = agents.read_tool(payload, self.KINDS, ("file_path", "notebook_path"), cwd)
        response = payload.get("tool_response")
        if isinstance(response, dict):
            if tool["kind"] == "task" and response.get("agentId"):
                tool["agent_id"] = ids.check_component(response["agentId"], "agentId")
            if response.get("backgroundTaskId"):  # also if the person sent it there
                tool["background"] = True
                tool["background_id"] = agents.Payload(response).get_text("backgroundTaskId")
            agents.add_output(tool, response.get("stdout"), response.get("stderr"))
        elif payload.hook == "PostToolBatch":
            tool["failed"] = isinstance(response, str) and response.startswith(_FAILED)
        if payload.get("is_interrupt") is True:
            tool["interrupted"] = True
        return tool

    def is_in_background(self, payload: Payload) -> bool:
        """Whether a subagent runs in the background, and ends with SubagentStop."""
        response = payload.get("tool_response")
        return isinstance(response, dict) and response.get("isAsync") is True

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions, named after cwd; a long name is cut and gets a hash."""
        data = cwd.encode("utf-16-le", "surrogatepass")
        units = [int.from_bytes(data[n : n + 2], "little") for n in range(0, len(data), 2)]
        name = "".join(chr(u) if u < 128 and chr(u).isalnum() else "-" for u in units)
        if len(name) <= _LONGEST:
            return name
        number = 0  # Java's String.hashCode() in base 36, as the client computes it
        for unit in units:
            number = (number * 31 + unit) & 0xFFFFFFFF
        number = abs(number - (1 << 32) if number & 0x80000000 else number)
        digits = ""
        while number:
            number, digit = divmod(number, 36)
            digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        return f"{name[:_LONGEST]}-{digits or '0'}"

    def format_title(self, text: str, session_id: str) -> bytes:
        """The line that gives a conversation its name in the client's list."""
        line = {"type": "custom-title", "customTitle": text, "sessionId": session_id}
        import json

        return json.dumps(line).encode() + b"\n"

    def is_open(self, home: str, session_id: str) -> bool:
        """Whether a running client lists the session as its own."""
        folder = resolve_path(home, ".claude/sessions", self.HOME_ENV)
        if os.path.isdir(folder):
            for name in os.listdir(folder):
                try:
                    with open(os.path.join(folder, name), "rb") as stream:
                        import json

                        listed = json.load(stream)
                except (OSError, ValueError):
                    continue
                if isinstance(listed, dict) and listed.get("sessionId") == session_id:
                    pid = listed.get("pid")
                    if isinstance(pid, int) and pid > 0 and _is_running(pid):
                        return True
        return False

    def locate_subagent_transcript(self, transcript_path: str, agent_id: str) -> str:
        """The path of a subagent's transcript, which need not exist, from that of its session's."""
        name = f"agent-{ids.check_component(agent_id, 'agent_id')}.jsonl"
        path = os.path.join(transcript_path.removesuffix(".jsonl"), "subagents", name)
        old_path = os.path.join(os.path.dirname(transcript_path), name)  # of older clients
        if not os.path.exists(path) and os.path.exists(old_path):
            return old_path
        return path


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as e:
        return isinstance(e, PermissionError)
    return True


CLIENT = ClaudeCode()
