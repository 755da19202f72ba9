"""Reads the transcripts of Cursor: JSON lines of {role, message: {content}}.

It is documented by its users only.  It has no tokens, times, or results of calls, and calls have no
ids.
"""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts
from gitcp.text import ids
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return "role" in first and isinstance(first.get("message"), dict)


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    content = ensure_object(entry.get("message")).get("content")
    if entry.get("role") == "user":
        yield "prompt", _extract_typed(transcript_facts.join_texts(content))
    elif entry.get("role") == "assistant":
        for block in list_objects(content):
            if block.get("type") == "tool_use":
                arguments = block.get("input")
                if isinstance(arguments, str):
                    arguments = {"patch": arguments}
                name = str(block.get("id") or block).encode(errors="replace")
                key = ids.start_sha256(name).hexdigest()[:16]
                yield "call", key, str(block.get("name")), ensure_object(arguments)
            elif isinstance(block.get("text"), str):
                yield "reply", block["text"]


def _extract_typed(text: str) -> str:
    """The person's part of a prompt, inside the client's element."""
    inner, end, _ = text.partition("<user_query>")[2].partition("</user_query>")
    return inner if end else text
