"""Reads the transcripts of Cursor: JSON lines of {role, message: {content}}.

It is documented by its users only.  It has no tokens, times, or results of calls, and calls have no
ids.
"""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return "role" in first and isinstance(first.get("message"), dict)


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    message = entry.get_object("message")
    if entry.get("role") == "user":
        yield "prompt", _extract_typed(transcript_facts.join_texts(message.get("content")))
    elif entry.get("role") == "assistant":
        for block in message.get_objects("content"):
            if block.is_kind("tool_use"):
                given = transcript_facts.read_input(block.get("input")).fields
                name = str(block.get("id") or block.fields).encode(errors="replace")
                key = ids.start_sha256(name).hexdigest()[:16]
                yield "call", key, block.get_word("name"), given
            elif isinstance(block.get("text"), str):
                yield "reply", block.get("text")


def _extract_typed(text: str) -> str:
    """The person's part of a prompt, inside the client's element."""
    inner, end, _ = text.partition("<user_query>")[2].partition("</user_query>")
    return inner if end else text
