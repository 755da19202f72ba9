"""Gemini CLI: its hooks, where it keeps things, and what its payloads mean (A§0.2, A§1.2)."""

from __future__ import annotations

import os

from gitcp.agents import payload as read
from gitcp.core.git import ids
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.agents.payload import Event
    from gitcp.core.transcript.transcript_scan import Scan

NAME = "gemini-cli"
AGENT_TYPE = "Gemini CLI"
SESSION_ENV = ("GEMINI_SESSION_ID",)
KINDS = {
    "write_file": "write",
    "replace": "write",
    "edit": "write",
    "edit_file": "write",
    "save_file": "write",
    "run_shell_command": "shell",
    "read_file": "read",
    "read_many_files": "read",
    "list_directory": "read",
    "glob": "read",
    "search_file_content": "read",
}
# PreCompress comes before every call of the model: it is no sign of compaction.
EVENTS = {
    "SessionStart": "session-start",
    "BeforeAgent": "turn-start",
    "BeforeTool": "tool-start",
    "AfterTool": "tool-end",
    "AfterAgent": "turn-end",
    "SessionEnd": "session-end",
}
_TOOLS = "write_file|replace|edit|edit_file|save_file|run_shell_command"
# (client's event, matcher or None, milliseconds or None)
HOOKS = (
    ("SessionStart", None, None),
    ("BeforeAgent", None, None),
    ("BeforeTool", _TOOLS, None),
    ("AfterTool", _TOOLS, None),
    ("AfterAgent", None, None),
    ("SessionEnd", None, None),
)


def settings_paths(home: str, top: str) -> dict[str, str]:
    """Where hooks can be installed: for all users of the repository, for the person."""
    return {
        "shared": os.path.join(top, ".gemini", "settings.json"),
        "user": os.path.join(home, ".gemini", "settings.json"),
    }


def event(name: str, payload: dict[str, Any]) -> Event:
    """The record of a hook call; InputError names a field that cannot be right."""
    ours = EVENTS.get(name)
    if ours is None:
        return read.unknown(NAME)
    found = read.event(NAME, ours, payload)
    if ours in ("tool-start", "tool-end"):
        tool = found["tool"] = read.tool(payload, KINDS, found["cwd"])
        if tool["kind"] == "write":
            given = read.mapping(payload, "tool_input")
            keys = ("file_path", "path", "filename")
            tool["input_paths"] = read.paths(given, keys, found["cwd"])
        response = payload.get("tool_response")
        tool["failed"] = isinstance(response, dict) and bool(response.get("error"))
    return found


def scan(data: bytes, start: int = 0, previous: Scan | None = None) -> Scan:
    """What a transcript, always the whole of it, says (core.transcript.transcript_scan.Scan)."""
    from gitcp.core.transcript import gemini

    return gemini.scan(data, start, previous)


def session_dir(home: str, cwd: str) -> str:
    """The folder of the transcripts of sessions started in cwd.

    The client names it by a slug that it keeps in projects.json; older ones by a hash of cwd.
    """
    import hashlib

    root = os.path.join(home, ".gemini", "tmp")
    digest = hashlib.sha256(os.fsencode(cwd)).hexdigest()
    slug = _slug(home, cwd)
    if slug is None and not os.path.isdir(os.path.join(root, digest)):
        slug = os.path.basename(cwd)
    return os.path.join(root, slug or digest, "chats")


def _slug(home: str, cwd: str) -> str | None:
    import json

    try:
        with open(os.path.join(home, ".gemini", "projects.json"), encoding="utf-8") as stream:
            slug = json.load(stream)["projects"][cwd]
        return ids.component(slug, "projects")
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return None


def subagent_transcript(transcript_path: str, agent_id: str) -> str | None:
    """Nothing: subagents of this client keep no transcript of their own."""
    return None


def resume_command(session_id: str) -> str:
    """What the person types to go on with a session."""
    return f"gemini --resume {session_id}"
