"""Decide which claim blocks a tool call, and whether a transcript shows that a call has ended."""

from __future__ import annotations

from gitcp.core import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    class Claim(TypedDict):
        """A tool call's claim on paths of a working copy; a claim without paths blocks nothing.

        key: its name.  agent_id: '' for the main agent.  process: the agent's
        (store.session.process.Process).  created: seconds since 1970.  started: the base of the
        call (verdict.Look), None if it was not read.
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
    """Whether two calls are of the same agent, which writes one file after the other
    (doc/clients.md "Claude Code")."""
    return claim["session_id"] == other["session_id"] and claim["agent_id"] == other["agent_id"]


def find_blocking_claim(mine: Claim, held: Iterable[Claim]) -> tuple[Claim, str] | None:
    """The first claim of another agent on one of the call's paths, and that path; None if all are
    free.  A subagent is another agent than its session's main one (doc/guard.md "Claims")."""
    for claim in held:
        if claim["key"] == mine["key"] or is_same_agent(mine, claim):
            continue
        shared = sorted(set(mine["paths"]) & set(claim["paths"]))
        if shared:
            return claim, shared[0]
    return None


def has_ended(data: bytes, tool_use_id: str, since: str) -> bool:
    """Whether the last lines of a transcript show the end of a tool call: its result, or an
    interruption later than since (RFC 3339, UTC).

    Lines that are cut or not JSON are skipped; without an id no line is a result.
    """
    for raw in reversed(data.split(b"\n")):
        has_id = bool(tool_use_id) and tool_use_id.encode() in raw
        if not has_id and b"nterrupt" not in raw and b"turn_aborted" not in raw:
            continue
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if not isinstance(line, dict):
            continue
        if has_id and _is_result(line, tool_use_id):
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
        isinstance(text, str) and text.startswith("[Request interrupted by user") for text in texts
    )
