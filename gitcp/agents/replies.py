"""How a client that calls hooks hears an answer: standard output, standard error and status.

A refusal is for the model, a message for the person.  What is said at tool-end comes too late
to stop anything: the model reads it.  An adapter's ANSWERS names the way of its client:

    permission   Claude Code, Codex, Qwen Code: hookSpecificOutput
    decision     Gemini CLI, whose standard output holds nothing but JSON
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Reply = tuple[str, str, int]  # standard output, standard error, status

REFUSED = 2  # the status by which these clients understand "no"


def refuse(way: str, event: str, message: str) -> Reply:
    """What says no to an event, by our name of it."""
    answer: dict[str, Any] = {}
    if way == "permission" and event == "tool-start":
        decision = {"permissionDecision": "deny", "permissionDecisionReason": message}
        answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
    elif way == "decision":
        answer = {"decision": "deny", "reason": message}
    return _line(answer), message + "\n", REFUSED


def tell(way: str, message: str) -> str:
    """What a hook prints so that the client shows the person a message."""
    return _line({"systemMessage": message})


def _line(answer: dict[str, Any]) -> str:
    return json.dumps(answer) + "\n" if answer else ""
