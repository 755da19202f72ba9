"""The hooks that most clients have by Claude Code's names, or are told by in its words."""

from __future__ import annotations

from gitcp.agents.exchange import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    tools = payload.all_but(kinds, "read")
    return tuple((name, tools if "Tool" in name else None, None) for name in events)
