"""Tokens and shares of authors in words."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.text.json import ensure_object
from gitcp.text.spans import count_noun, format_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def format_usage(usage: Any, agent: str = "") -> str:
    """A token usage as text, with its subagents'; '' if it is empty.  agent: whose stored usage it
    is; '' for a sum (gitcp.agents.transcripts.count_spent)."""
    counts = transcripts.list_counts(transcripts.count_spent(usage, agent))
    if not any(counts):
        return ""
    fresh, creation, read, output, calls = counts
    cached = f", {format_number(creation + read)} cached" if creation + read else ""
    called = f", {count_noun(calls, 'request')}" if calls else ""
    return f"{format_number(fresh)} tokens in, {format_number(output)} out{cached}{called}"


def format_shares(attribution: Any, parts: Iterable[str]) -> str:
    """The lines of parts (agent, others, person, unknown) in an initial_attribution: `person +3 -1,
    unknown +2 -0`, the agent's without a name; '' if it counts none."""
    credit, shares = ensure_object(attribution), list[str]()
    added, removed = map(ensure_object, map(credit.get, ("lines_added", "lines_removed")))
    for part in parts:
        plus, minus = (
            transcripts.parse_count(added.get(part)),
            transcripts.parse_count(removed.get(part)),
        )
        if plus or minus:
            shares.append(f"{'' if part == 'agent' else part + ' '}+{plus} -{minus}")
    return ", ".join(shares)
