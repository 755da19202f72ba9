"""The answer to a client's hook: standard output, standard error and status.

A refusal is for the model, a message for the person.  A refusal at tool-end stops nothing, but
the model reads it.  ANSWERS of a client names the form:

    permission   Claude Code, Codex, Qwen Code: hookSpecificOutput
    decision     Gemini CLI, whose standard output holds nothing but JSON
    copilot      Copilot CLI: the permission at the top level; it shows no messages
    cursor       Cursor: `permission` for a call, `continue` for a prompt
    cline        Cline, which ignores the status
    text         opencode: the status and standard error; it shows no messages
    plain        any other tool: the same, and messages on standard output
"""

from __future__ import annotations

from gitcp.errors import OK
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp import agents


# form -> the hook at a prompt, for the forms that can show messages then
_PROMPTS = {"permission": "UserPromptSubmit", "decision": "BeforeAgent"}
REFUSED = 2  # the status of a refusal


def format_refusal(form: str, event: str, message: str) -> agents.Reply:
    """The answer that refuses an event."""
    answer = _REFUSALS[form](message)
    if form == "permission" and event != "tool-start":
        answer = {}
    return _format_line(answer), message + "\n", OK if form == "cline" else REFUSED


def format_message(form: str, message: str, context: str = "") -> str:
    """The output of a hook that shows a message to the person, and a context to the model with the
    prompt; "" if the client supports neither."""
    if form == "plain":
        return "".join(f"{text}\n" for text in (message, context) if text)
    if form not in _PROMPTS:
        return ""
    answer: dict[str, Any] = {"systemMessage": message} if message else {}
    if context:
        hook = {"hookEventName": _PROMPTS[form], "additionalContext": context}
        answer["hookSpecificOutput"] = hook
    return _format_line(answer)


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
