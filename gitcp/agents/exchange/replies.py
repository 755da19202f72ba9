"""How a client that calls hooks hears an answer: standard output, standard error and status.

A refusal is for the model, a message for the person.  What is said at tool-end comes too late
to stop anything: the model reads it.  An adapter's ANSWERS names the way of its client:

    permission   Claude Code, Codex, Qwen Code: hookSpecificOutput
    decision     Gemini CLI, whose standard output holds nothing but JSON
    copilot      Copilot CLI: the permission itself; it shows no messages
    cursor       Cursor: the permission, for a prompt whether to continue
    cline        Cline, which takes no status for a no
    text         opencode: the status and standard error; it shows no messages
    plain        any other tool: the same, and messages on standard output
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Reply = tuple[str, str, int]  # standard output, standard error, status

# The client's name of the hook of a prompt, by its way of hearing.
_PROMPTS = {"permission": "UserPromptSubmit", "decision": "BeforeAgent"}
REFUSED = 2  # the status by which these clients understand "no"


def format_refusal(way: str, event: str, message: str) -> Reply:
    """What says no to an event, by our name of it."""
    answer = _REFUSALS[way](message)
    if way == "permission" and event != "tool-start":
        answer = {}
    return _format_line(answer), message + "\n", OK if way == "cline" else REFUSED


def format_message(way: str, message: str, agent: str = "") -> str:
    """What a hook prints so that the client shows the person a message, and its model, with
    the prompt, what is for the agent; "" where the client knows neither."""
    if way == "plain":
        return "".join(f"{text}\n" for text in (message, agent) if text)
    if way not in _PROMPTS:
        return ""
    context = {"hookEventName": _PROMPTS[way], "additionalContext": agent}
    answer = {"systemMessage": message} if message else {}
    return _format_line({**answer, **({"hookSpecificOutput": context} if agent else {})})


def _deny(message: str) -> dict[str, Any]:
    return {"permissionDecision": "deny", "permissionDecisionReason": message}


_REFUSALS: dict[str, Callable[[str], dict[str, Any]]] = {
    "permission": lambda message: {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", **_deny(message)}
    },
    "decision": lambda message: {"decision": "deny", "reason": message},
    "copilot": _deny,
    "cursor": lambda message: {
        "continue": False,
        "permission": "deny",
        "user_message": message,
        "agent_message": message,
    },
    "cline": lambda message: {"cancel": True, "errorMessage": message},
    "text": lambda message: {},
    "plain": lambda message: {},
}


def _format_line(answer: dict[str, Any]) -> str:
    return json.dumps(answer) + "\n" if answer else ""
