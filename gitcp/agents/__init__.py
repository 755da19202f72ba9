"""The agents gitcp knows, one adapter module each.

An adapter has NAME (ours, on command lines), AGENT_TYPE (in stored data), HOOKS and
settings_paths (what `enable` installs and where), SESSION_ENV (what names the session to a git
hook), ANSWERS (its way of hearing no: gitcp.agents.replies), KINDS and EVENTS (what its tools and
hooks are in our words), event (payload to record), scan (transcript to facts), session_dir,
subagent_transcript and resume_command.
"""

from __future__ import annotations

from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

NAMES = (
    *("claude-code", "gemini-cli", "codex", "copilot"),
    *("opencode", "qwen-code", "cline", "cursor"),
)
_TYPES = {
    "Claude Code": "claude-code",
    "Gemini CLI": "gemini-cli",
    "Codex": "codex",
    "Copilot CLI": "copilot",
    "OpenCode": "opencode",
    "Qwen Code": "qwen-code",
    "Cline": "cline",
    "Cursor": "cursor",
}
# Every adapter's SESSION_ENV, and that of `gitcp run`: a commit hook asks for these alone.
SESSION_ENVS = (
    *("CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID", "CODEX_SESSION_ID"),
    *("COPILOT_AGENT_SESSION_ID", "OPENCODE_SESSION_ID", "GITCP_SESSION_ID"),
)
_GUESTS = ("copilot", "cursor")  # they run the hooks of Claude Code's settings


def adapter(name: str) -> ModuleType:
    """The adapter of a name, or of an agent type found in stored data; else InputError."""
    known = _TYPES.get(name, name)
    if known not in NAMES:
        raise InputError(f"unknown agent '{name}'; known are {', '.join(NAMES)}")
    return __import__("gitcp.agents." + known.replace("-", "_"), fromlist=["NAME"])


def type_of(name: str) -> str:
    """What stored data calls an agent; any other tool is called by its own name."""
    return str(adapter(name).AGENT_TYPE) if name in NAMES else name


def answers(name: str) -> str:
    """The way in which an agent hears an answer (gitcp.agents.replies)."""
    return str(adapter(name).ANSWERS) if name in NAMES else "plain"


def recognise(named: ModuleType, payload: Mapping[str, Any]) -> ModuleType:
    """Whose payload it is: some clients also run the hooks that are installed for another."""
    transcript = str(payload.get("transcript_path"))
    its_own = transcript.endswith(f"{payload.get('session_id')}.jsonl")
    if named.NAME == "claude-code" and (not its_own or "conversation_id" in payload):
        for guest in map(adapter, _GUESTS):
            if guest.is_payload(payload):
                return guest
    return named
