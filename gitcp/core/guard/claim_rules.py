"""Who holds a path: which claims stand in a tool call's way, and what a transcript ends."""

from __future__ import annotations

from gitcp.core import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    class Claim(TypedDict):
        """A tool call's hold on paths of one working copy; without paths it only observes.

        agent_id: '' for the main agent.  process: the agent's (store.session.process.Process).
        created: seconds since the epoch, for people.  started: what the call began on
        (verdict.Look), None when it was not looked at.  key: its name.
        """

        key: str
        session_id: str
        agent_id: str
        tool_use_id: str
        tool: str
        paths: list[str]
        process: dict[str, Any] | None
        transcript: str
        created: float
        started: dict[str, Any] | None


def is_same_agent(claim: Claim, other: Claim) -> bool:
    """Whether two calls are of one agent, whose writes run one after the other
    (doc/clients.md "Claude Code")."""
    return claim["session_id"] == other["session_id"] and claim["agent_id"] == other["agent_id"]


def find_blocking_claim(mine: Claim, held: Iterable[Claim]) -> tuple[Claim, str] | None:
    """The first claim of somebody else on one of my paths, with that path; None when free.

    A session is in nobody's way on other paths, nor is an agent in its own; a subagent shares
    its session's id and is somebody else (doc/guard.md "Claims").
    """
    for claim in held:
        if claim["key"] == mine["key"] or is_same_agent(mine, claim):
            continue
        shared = sorted(set(mine["paths"]) & set(claim["paths"]))
        if shared:
            return claim, shared[0]
    return None


def has_ended(data: bytes, tool_use_id: str, since: str) -> bool:
    """Whether a transcript (its last lines) shows the end of a tool call: its result, or an
    interruption later than since, when the call began (RFC 3339, UTC).

    A line that is cut or not JSON says nothing; without an id no line is a result.
    """
    for raw in reversed(data.split(b"\n")):
        named = bool(tool_use_id) and tool_use_id.encode() in raw
        if not named and b"nterrupt" not in raw and b"turn_aborted" not in raw:
            continue
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if not isinstance(line, dict):
            continue
        if named and _is_result(line, tool_use_id):
            return True
        if _is_interruption(line) and str(line.get("timestamp", "")) > since:
            return True
    return False


def _list_blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _get_payload(line: dict[str, Any]) -> dict[str, Any]:
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else {}


def _is_result(line: dict[str, Any], tool_use_id: str) -> bool:
    results = [b for b in _list_blocks(line) if b.get("type") == "tool_result"]
    if any(b.get("tool_use_id") == tool_use_id for b in results):
        return True
    payload = _get_payload(line)
    output = str(payload.get("type", "")).endswith("_output")
    return output and payload.get("call_id") == tool_use_id


def _is_interruption(line: dict[str, Any]) -> bool:
    if _get_payload(line).get("type") == "turn_aborted":
        return True
    texts = [b.get("text") for b in _list_blocks(line) if b.get("type") == "text"]
    return line.get("type") == "user" and any(
        isinstance(one, str) and one.startswith("[Request interrupted by user") for one in texts
    )
