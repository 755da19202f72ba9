"""Tokens and shares of authors in words."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.text.json import ensure_object
from gitcp.text.spans import count_noun, format_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def format_usage(usage: Any, agent: str = "") -> str:
    """A token usage as text, with its subagents'; '' if it is empty.  agent: whose stored usage it
    is; '' for a sum (gitcp.agents.transcripts.count_spent)."""
    counts = transcripts.list_counts(transcripts.count_spent(usage, agent))
    if not any(counts):
        return ""
    fresh, creation, read, output, calls = counts
    cached = ""
    if creation + read:
        cached = f", {format_number(creation + read)} cached"
    called = ""
    if calls:
        called = f", {count_noun(calls, 'request')}"
    return f"{format_number(fresh)} tokens in, {format_number(output)} out{cached}{called}"


def format_lines(commit: Mapping[str, Any], parts: Iterable[str]) -> str:
    """The lines of a commit's record by parts (words of WHO): `person +3 -1, unknown +2 -0`, the
    agents' without a name; '' if it has none."""
    lines = commit.get("lines")
    if not lines:
        return ""
    shares = []
    for part in parts:
        plus = lines["added"][part]
        minus = lines["removed"][part]
        if plus or minus:
            name = "" if part == "agent" else f"{part} "
            shares.append(f"{name}+{plus} -{minus}")
    return ", ".join(shares)


def count_session(commit: Mapping[str, Any], session_id: str) -> int:
    """The lines of a session that a commit's record counts as added."""
    count: int = ensure_object(commit.get("lines")).get("sessions", {}).get(session_id, 0)
    return count


def describe_stored(credit: Mapping[str, Any]) -> str:
    """The count of lines that was stored with a session; '' if there is none."""
    if not credit:
        return ""
    keys = ("agent_lines", "agent_removed", "total_committed")
    counts = [credit.get(key) for key in keys]
    added, removed, total = [n if isinstance(n, int) else 0 for n in counts]
    share = credit.get("agent_percentage")
    percent = ""
    if isinstance(share, (int, float)):
        percent = f" ({share:.0f} %)"
    words = f"stored as: {added + removed} of {count_noun(total, 'line')} by the agent{percent}"
    people = {key: credit.get(f"human_{key}") or 0 for key in ("added", "modified", "removed")}
    done = [f"{verb} {count}" for verb, count in people.items() if count]
    if done:
        words += f", a person {' and '.join(done)}"
    return words
