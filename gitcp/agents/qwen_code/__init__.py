"""Qwen Code: hooks as Claude Code's, tools as Gemini CLI's.

Headless it reports no start or end of a session, and submits an empty prompt, which is no turn,
after each result of a tool.
"""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.claude_code import ClaudeCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload


class QwenCode(agents.Client):
    NAME = "qwen-code"
    AGENT_TYPE = "Qwen Code"
    PROGRAM = "qwen"
    FOLDERS = (".qwen",)
    SESSION_ENV = ()  # its shell has QWEN_CODE=1 and no session
    SWITCHES = {"disableAllHooks": True}
    MANAGED = (
        "/etc/qwen-code/settings.json",
        "/Library/Application Support/QwenCode/settings.json",
    )
    PROJECT_ENV = "GEMINI_PROJECT_DIR"
    ANSWERS = "permission"
    FORM = "commented"
    SETTINGS = dict.fromkeys(("shared", "user"), ".qwen/settings.json")
    TRANSCRIPTS = ".qwen/projects"
    RESUME = "qwen --resume {}"
    BEGIN = "qwen -i {}"
    PARTS = ("transcript",)
    KINDS = agents.make_kinds(
        write="write_file edit replace notebook_edit",
        shell="run_shell_command",
        task="task agent",
        todo="todo_write",
        read="""read_file read_many_files list_directory glob grep_search search_file_content
            web_fetch web_search google_web_search ask_user_question enter_plan_mode exit_plan_mode
            skill tool_search lsp""",
    )
    EVENTS = {name: event for name, event in ClaudeCode.EVENTS.items() if name != "PostToolBatch"}
    _START = agents.build_matcher(KINDS, "read", "todo")
    MATCHERS = {
        "PreToolUse": _START,
        "PostToolUse": agents.build_matcher(KINDS, "read"),
        "PostToolUseFailure": _START,
    }
    NAMES_CALLS = True
    PATHS = ("file_path", "path", "notebook_path")

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys; an empty prompt is ignored."""
        if payload.hook == "UserPromptSubmit" and not payload.get("prompt"):
            return payload.ignore()
        path = payload.get("transcript_path")
        if isinstance(path, str) and path and not path.endswith(".jsonl"):
            file = os.path.join(path, f"{payload.get('session_id')}.jsonl")
            return payload.change(transcript_path=file)  # it named the folder of all transcripts
        return payload

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions below TRANSCRIPTS."""
        return "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd) + "/chats"


CLIENT = QwenCode()
