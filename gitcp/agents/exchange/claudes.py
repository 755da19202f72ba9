"""The hooks that most clients have under Claude Code's names."""

from __future__ import annotations

from gitcp.agents.exchange import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
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


def list_hooks(
    kinds: Mapping[str, str], events: Iterable[str] = EVENTS
) -> tuple[tuple[str, str | None, int | None], ...]:
    """(event, matcher or None, None) of each hook, without tools of kind `read`."""
    tools = payload.build_matcher(kinds, "read")
    return tuple((name, tools if "Tool" in name else None, None) for name in events)


def nest_hooks(
    events: Iterable[str], command: Callable[[str], str], seconds: int | None = None
) -> dict[str, Any]:
    """A file of hooks in the form of Claude Code's settings, with the command of each event, and
    the time-out in seconds, if any."""
    hook = {"type": "command"} | ({"timeout": seconds} if seconds else {})
    return {"hooks": {name: [{"hooks": [{**hook, "command": command(name)}]}] for name in events}}
