"""Gemini CLI: its hooks, paths and payloads
(doc/clients.md "Gemini CLI")."""

from __future__ import annotations

import json
import os

from gitcp import agents
from gitcp.agents import list_files
from gitcp.errors import InputError
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class GeminiCli(agents.Client):
    NAME = "gemini-cli"
    AGENT_TYPE = "Gemini CLI"
    PROGRAM = "gemini"
    FOLDERS = (".gemini",)
    SESSION_ENV = ("GEMINI_SESSION_ID",)
    PROJECT_ENV = "GEMINI_PROJECT_DIR"
    SWITCHES = {"hooksConfig.enabled": False}
    MANAGED = (
        "/etc/gemini-cli/settings.json",
        "/Library/Application Support/GeminiCli/settings.json",
    )
    HERE_ONLY = True  # it does not read the settings of directories above
    ANSWERS = "decision"
    FORM = "commented"
    SETTINGS = dict.fromkeys(("shared", "user"), ".gemini/settings.json")
    TRANSCRIPTS = ".gemini/tmp"
    RESUME = "gemini --resume {}"
    BEGIN = "gemini -i {}"
    PARTS = ("transcript", "cut")
    TRUST_NOTE = "asks for trust in new hooks of a repository once"
    KINDS = agents.make_kinds(
        write="write_file replace edit edit_file save_file",
        shell="run_shell_command",
        read="""read_file read_many_files list_directory glob search_file_content grep_search
            google_web_search web_fetch write_todos ask_user enter_plan_mode exit_plan_mode
            activate_skill get_internal_docs complete_task update_topic""",
    )
    # PreCompress comes before every call of the model, not only before a compaction.
    EVENTS = {
        "SessionStart": "session-start",
        "BeforeAgent": "turn-start",
        "BeforeTool": "tool-start",
        "AfterTool": "tool-end",
        "AfterAgent": "turn-end",
        "SessionEnd": "session-end",
    }
    MATCHER = agents.build_matcher(KINDS, "read")
    NAMES_CALLS = True
    PATHS = ("file_path", "path", "filename")  # keys of its tools, new and old

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions below TRANSCRIPTS: the slug in projects.json; older versions
        use a hash of cwd."""
        digest = ids.start_sha256(os.fsencode(cwd)).hexdigest()
        try:
            name = ids.check_component(_read_projects(home)[cwd], "projects")
        except (KeyError, InputError):
            is_hashed = os.path.isdir(os.path.join(home, self.TRANSCRIPTS, digest))
            name = "" if is_hashed else os.path.basename(cwd)
        return f"{name or digest}/chats"

    def list_conversations(self, home: str, cwd: str) -> list[str]:
        """The files with conversations of cwd or directories below it."""
        below = [project for project in _read_projects(home) if project.startswith(cwd + os.sep)]
        folders = [
            os.path.join(home, self.TRANSCRIPTS, self.name_project(home, p)) for p in (cwd, *below)
        ]
        found: list[str] = []
        for folder in folders:
            found += list_files(folder, ".jsonl", ".json")
        return found

    def name_transcript(self, session_id: str, time: str) -> str:
        """The file of a session's transcript below locate_sessions().  time: its start,
        RFC 3339."""
        return f"session-{time[:16].replace(':', '-')}-{session_id[:8]}.jsonl"


def _read_projects(home: str) -> dict[str, Any]:
    """directory -> slug, by projects.json; {} if it cannot be read."""
    try:
        with open(os.path.join(home, ".gemini", "projects.json"), encoding="utf-8") as stream:
            projects = json.load(stream)["projects"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return projects if isinstance(projects, dict) else {}


CLIENT = GeminiCli()
