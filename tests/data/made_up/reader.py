"""Reading a transcript of a client that nobody has: lines of {who, says, puts, costs}."""

from __future__ import annotations

from gitcp.agents import transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins so is of this client."""
    return "who" in first and "says" in first


def list_facts(entry: Fields) -> Iterator[Fact]:
    """What a line says."""
    yield "prompt" if entry.get("who") == "person" else "reply", entry.get_word("says")
    if "puts" in entry:
        key = entry.get_word("id")
        yield "call", key, "put", entry.get_object("puts").fields
        yield "result", key, False, "it is there"
        yield "usage", key, transcripts.make_usage(entry.get("costs"), 0, 0, 1, 1)
