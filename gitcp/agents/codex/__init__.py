"""Codex: its hooks, paths and payloads (doc/clients.md "Codex")."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents import resolve_path
from gitcp.agents.transcripts import agent_words, load_entry
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload
    from gitcp.text.record_types import Tool


class Codex(agents.Client):
    NAME = "codex"
    AGENT_TYPE = "Codex"
    PROGRAM = "codex"
    FOLDERS = (".codex",)
    HOME_ENV = "CODEX_HOME"
    SWITCHES = {"features.hooks": False, "features.codex_hooks": False}
    MANAGED_SWITCHES = {"allow_managed_hooks_only": True}
    DISTRUST = ".codex/config.toml", "projects", "trust_level", "untrusted"
    SWITCH_FILES = (".codex/config.toml",)
    MANAGED = ("/etc/codex/requirements.toml",)
    SESSION_ENV = ("CODEX_SESSION_ID",)  # CODEX_THREAD_ID may be a subagent's
    ANSWERS = "permission"
    SETTINGS = dict.fromkeys(("shared", "user"), ".codex/hooks.json")
    TRANSCRIPTS = (
        ".codex/sessions"  # below it <year>/<month>/<day>/rollout-<time>-<session id>.jsonl
    )
    RESUME = "codex resume {}"
    BEGIN = "codex {}"
    PARTS = ("transcript", "cut", "head")
    TRUST_NOTE = (
        "asks for trust in new hooks once, in its terminal (/hooks), and skips them till then"
    )
    KINDS = agents.make_kinds(
        write="apply_patch",
        shell="Bash",
        task="spawn_agent",
        read="update_plan view_image web_search wait close_agent",
    )
    EVENTS = {
        "SessionStart": "session-start",
        "UserPromptSubmit": "turn-start",
        "PreToolUse": "tool-start",
        "PostToolUse": "tool-end",
        "SubagentStart": "subagent-start",
        "SubagentStop": "subagent-end",
        "Stop": "turn-end",
        "PreCompact": "compact",
        "SessionEnd": "session-end",
    }
    # Its regular expressions have no lookahead.  write_stdin continues a command.
    MATCHER = "^(?:Bash|apply_patch|spawn_agent|write_stdin|js_repl|mcp__.*)$"

    def adapt(self, payload: Payload) -> Payload:
        """The payload.  In a subagent's events, except its end, transcript_path is the
        subagent's own."""
        if payload.get("agent_id") is None or payload.hook == "SubagentStop":
            return payload
        own_path = payload.get("transcript_path")
        return payload.change(transcript_path=None, agent_transcript_path=own_path)

    def is_in_background(self, payload: Payload) -> bool:
        """Whether a subagent works on after its call: SubagentStop ends it."""
        return True

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call of a payload."""
        tool = agents.read_tool(payload, self.KINDS, cwd=cwd)
        response = payload.get("tool_response")
        response = response if isinstance(response, str) else ""
        arguments = payload.get_object("tool_input")
        if tool["kind"] == "shell":  # it may have the patch in a here-document
            paths = agent_words.list_paths(arguments.find_patch())
            tool["input_paths"] = agents.resolve_paths(paths, cwd, "command")
        agents.add_output(tool, response)
        if tool["kind"] == "write":
            tool["failed"] = bool(response) and not response.startswith("Exit code: 0\n")
        elif tool["kind"] == "task":
            tool["description"] = arguments.get_words("message")
            agent = (load_entry(response) or {}).get("agent_id")
            if agent is not None:
                tool["agent_id"] = ids.check_component(agent, "agent_id")
        return tool

    def name_transcript(self, session_id: str, time: str) -> str:
        """The file of a session's transcript below locate_sessions().  time: its start,
        RFC 3339."""
        day = time[:10].replace("-", os.sep)
        second = time[:19].replace(":", "-")
        return os.path.join(day, f"rollout-{second}-{session_id}.jsonl")

    def is_open(self, home: str, session_id: str) -> bool:
        """Whether a running client writes to the session."""
        lock = f".codex/thread-writer-locks/{session_id}.lock"
        return os.path.exists(resolve_path(home, lock, self.HOME_ENV))

    def locate_subagent_transcript(self, transcript_path: str, agent_id: str) -> str | None:
        """The transcript of a subagent, found beside its session's; None when there is none."""
        folder = os.path.dirname(transcript_path)
        end = f"-{agent_id}.jsonl"
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(end))
        except OSError:
            return None
        if names:
            return os.path.join(folder, names[-1])
        return None


CLIENT = Codex()
