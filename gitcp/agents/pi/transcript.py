"""Reads the transcripts of Pi: JSON lines, a header, then lines of {type, id, message}."""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return first.get("type") == "session" and "version" in first


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    message = ensure_object(entry.get("message"))
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        yield "prompt", transcript_facts.join_texts(content)
    elif role == "toolResult":
        failed = message.get("isError") is True
        yield (
            "result",
            str(message.get("toolCallId")),
            failed,
            transcript_facts.extract_text(content),
        )
    elif role == "assistant":
        for block in list_objects(content):
            if block.get("type") == "text":
                yield "reply", str(block.get("text") or "")
            elif block.get("type") == "toolCall":
                key = str(block.get("id"))
                name = str(block.get("name"))
                yield "call", key, name, ensure_object(block.get("arguments"))
        counts = ensure_object(message.get("usage"))
        usage = transcript_facts.read_usage(counts, "input", "cacheWrite", "cacheRead", "output")
        yield "usage", str(entry.get("id")), usage
