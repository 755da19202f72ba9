"""Reads the transcripts of Pi: JSON lines, a header, then lines of {type, id, message}."""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields

SHOWS_FILES = True  # the output of a tool that reads is the file's content


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return first.is_kind("session") and "version" in first


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    message = entry.get_object("message")
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        yield "prompt", transcript_facts.join_texts(content)
    elif role == "toolResult":
        text = transcript_facts.extract_text(content)
        yield "result", message.get_word("toolCallId"), message.get("isError") is True, text
    elif role == "assistant":
        for block in message.get_objects("content"):
            if block.is_kind("text"):
                yield "reply", block.get_word("text")
            elif block.is_kind("toolCall"):
                given = block.get_object("arguments").fields
                yield "call", block.get_word("id"), block.get_word("name"), given
        counts = message.get_object("usage")
        usage = transcript_facts.read_usage(counts, "input", "cacheWrite", "cacheRead", "output")
        yield "usage", entry.get_word("id"), usage
