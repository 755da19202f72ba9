"""The hooks that most clients have under Claude Code's names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

CORE = {  # the events of all these clients
    "SessionStart": "session-start",
    "UserPromptSubmit": "turn-start",
    "PreToolUse": "tool-start",
    "PostToolUse": "tool-end",
    "Stop": "turn-end",
}
EVENTS = {
    **CORE,
    "PostToolUseFailure": "tool-end",
    "SubagentStop": "subagent-end",
    "PreCompact": "compact",
    "SessionEnd": "session-end",
}


def omit_events(*absent: str) -> dict[str, str]:
    """EVENTS without those that a client does not have."""
    return {name: event for name, event in EVENTS.items() if name not in absent}


def nest_hooks(
    events: Iterable[str], command: Callable[[str], str], seconds: int | None = None
) -> dict[str, Any]:
    """A file of hooks in the form of Claude Code's settings, with the command of each event, and
    the time-out in seconds, if any."""
    hook = {"type": "command"} | ({"timeout": seconds} if seconds else {})
    return {"hooks": {name: [{"hooks": [{**hook, "command": command(name)}]}] for name in events}}
