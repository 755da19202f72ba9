"""The tokens of a session so far, its subagents' among them."""

from __future__ import annotations

from gitcp.core.transcript import tokens
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import State, Usage
    from gitcp.store.v1.transcript import Stored


def of(state: State, stored: Stored | None) -> Usage | None:
    """Cumulative usage of the session's transcript and of those of its subagents on disk."""
    if stored is None or not stored.scan:
        return None
    from gitcp.agents import adapter

    own: Usage | None = stored.scan["usage"]
    names = stored.scan["subagents"]
    path = state.get("transcript_path")
    if not names or not path:
        return own
    try:
        client = adapter(state.get("agent_type", ""))
    except InputError:
        return own
    usages = []
    for name in names:
        try:
            with open(client.subagent_transcript(path, name), "rb") as f:
                usages.append(client.scan(f.read())["usage"])
        except (OSError, AttributeError, InputError):
            continue  # not every client keeps one
    return tokens.with_subagents(own, usages)
