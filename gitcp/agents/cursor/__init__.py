"""Cursor: its hooks and payloads, by its documentation only.

It also runs the hooks of Claude Code's settings: the same session, turn and call are then reported
twice and count once.
"""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents import list_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload

_CLAUDES = {"UserPromptSubmit": "beforeSubmitPrompt"}


class Cursor(agents.Client):
    NAME = "cursor"
    AGENT_TYPE = "Cursor"
    PROGRAM = "cursor-agent"
    FOLDERS = (".cursor",)
    UNTRIED = True
    PROJECT_ENV = "CURSOR_PROJECT_DIR"
    ANSWERS = "cursor"
    FORM = "cursor"
    SETTINGS = dict.fromkeys(("shared", "user"), ".cursor/hooks.json")
    TRANSCRIPTS = ".cursor/projects"
    RESUME = "cursor-agent --resume {}"
    BEGIN = "cursor-agent {}"
    PARTS = ("transcript",)
    TRUST_NOTE = "runs hooks of a repository only in a workspace that you trust"
    KINDS = agents.make_kinds(
        write="Write Edit StrReplace MultiEdit EditNotebook ApplyPatch Delete",
        shell="Shell Bash",
        task="Task Agent",
        read="""Read ReadFile Glob Grep LS List Search SemanticSearch ReadLints WebSearch WebFetch
            AskQuestion SwitchMode TodoWrite""",
    )
    EVENTS = {
        "sessionStart": "session-start",
        "beforeSubmitPrompt": "turn-start",
        "preToolUse": "tool-start",
        "postToolUse": "tool-end",
        "postToolUseFailure": "tool-end",
        "subagentStart": "subagent-start",
        "subagentStop": "subagent-end",
        "preCompact": "compact",
        "stop": "turn-end",
        "sessionEnd": "session-end",
    }
    MATCHER = agents.build_matcher(KINDS, "read")
    PATHS = ("file_path", "path", "target_file", "target_notebook")

    def is_own_payload(self, payload: Payload) -> bool:
        """False for a payload of Grok Build, which also runs this client's hooks."""
        return "hookEventName" not in payload

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys, and the hook in Cursor's spelling."""
        output = payload.get("tool_output")
        adapted = payload.change(
            session_id=payload.get("conversation_id") or payload.get("session_id"),
            turn_id=payload.get("generation_id"),
            cwd=payload.get("cwd") or payload.get_first("workspace_roots"),
            tool_input=dict(agents.load_input(payload, "tool_input").list_items()),
            tool_response=output if isinstance(output, str) else None,
            duration_ms=payload.find(("duration", "duration_ms")),
        )
        hook = payload.hook
        return adapted.send_to(_CLAUDES.get(hook, hook[:1].lower() + hook[1:]))

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions below TRANSCRIPTS."""
        name = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd).strip("-")
        return f"{name}/agent-transcripts"

    def list_conversations(self, home: str, cwd: str) -> list[str]:
        """The files with conversations of cwd, which their contents do not name."""
        return list_files(
            os.path.join(home, self.TRANSCRIPTS, self.name_project(home, cwd)), ".jsonl"
        )

    def read_head(self, path: str) -> dict[str, str]:
        """The head of a transcript by its name: its lines have none
        (gitcp.agents.reading.edits)."""
        folder, name = os.path.split(path.removesuffix(".jsonl"))
        above, below = os.path.split(folder)
        parent = ""
        if below == "subagents":
            parent = os.path.basename(above)
        return {"session": name, "parent": parent, "agent": "", "cwd": ""}


CLIENT = Cursor()
