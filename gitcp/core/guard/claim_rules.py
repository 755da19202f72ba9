"""Decide which claim blocks a tool call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    class Claim(TypedDict):
        """A tool call's claim on paths of a working copy; a claim without paths blocks nothing.

        key: its name.  agent_id: '' for the main agent.  process: the agent's
        (store.session.process.Process).  created: seconds since 1970.  started: the base of the
        call (verdict.Base), None if it was not read.
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
