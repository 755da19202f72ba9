"""Reads the transcripts of Copilot CLI: JSON lines of {type, data, id, timestamp}."""

from __future__ import annotations

from gitcp.agents.transcripts import Result, transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields

_COUNTS = ("inputTokens", "cacheWriteTokens", "cacheReadTokens", "outputTokens")


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return "data" in first and "." in first.get_word("type")


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts).  A subagent's lines name it."""
    kind = entry.get("type")
    data = entry.get_object("data")
    if kind == "user.message" and not entry.get("agentId"):
        yield "prompt", data.get_word("content")
    elif kind == "assistant.message":
        if data.get("content"):
            yield "reply", data.get_word("content")
        for call in data.get_objects("toolRequests"):
            given = transcript_facts.read_input(call.get("arguments")).fields
            yield "call", call.get_word("toolCallId"), call.get_word("name"), given
    elif kind == "tool.execution_complete":
        text = transcript_facts.extract_text(data.get("result") or data.get("error"))
        yield "result", data.get_word("toolCallId"), data.get("success") is not True, text
    elif kind == "session.usage_record":
        counts = data.get_object("usage")
        usage = transcript_facts.read_usage(counts, *_COUNTS, with_cache=True)
        yield "usage", entry.get_word("id"), usage


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in a line (gitcp.agents.reading.edits)."""
    data = entry.get_object("data")
    if entry.is_kind("tool.execution_complete"):
        kinds = [edit.get("kind") for edit in data.get_objects("fileEdits")]
        failed = data.get("success") is not True
        yield Result(data.get_word("toolCallId"), failed, created=kinds == ["create"])
