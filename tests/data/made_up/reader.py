"""Reading a transcript of a client that nobody has: lines of {who, says, puts, costs}."""

from __future__ import annotations

from gitcp.agents import transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins so is of this client."""
    return "who" in first and "says" in first


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """What a line says."""
    yield "prompt" if entry.get("who") == "person" else "reply", str(entry.get("says") or "")
    if "puts" in entry:
        yield "call", str(entry["id"]), "put", entry["puts"]
        yield "result", str(entry["id"]), False, "it is there"
        yield "usage", str(entry["id"]), transcripts.make_usage(entry["costs"], 0, 0, 1, 1)
