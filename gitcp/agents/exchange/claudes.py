"""The hooks that most clients have by Claude Code's names, or are told by in its words."""

from __future__ import annotations

from gitcp.agents.exchange import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

CORE = {  # what every such client has
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
    """(event, matcher or None, None) of each: calls of tools whose kind is `read` are left out."""
    tools = payload.build_matcher(kinds, "read")
    return tuple((name, tools if "Tool" in name else None, None) for name in events)


def nest_hooks(
    events: Iterable[str], command: Callable[[str], str], seconds: int | None = None
) -> dict[str, Any]:
    """A file of hooks as Claude Code's settings have them: the command of each event, with the
    seconds that it may take, if given."""
    hook = {"type": "command"} | ({"timeout": seconds} if seconds else {})
    return {"hooks": {name: [{"hooks": [{**hook, "command": command(name)}]}] for name in events}}
