"""Reads the transcripts of Copilot CLI: JSON lines of {type, data, id, timestamp}."""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

_COUNTS = ("inputTokens", "cacheWriteTokens", "cacheReadTokens", "outputTokens")


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return "data" in first and "." in str(first.get("type"))


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts).  A subagent's lines name it."""
    kind = entry.get("type")
    data = ensure_object(entry.get("data"))
    if kind == "user.message" and not entry.get("agentId"):
        yield "prompt", str(data.get("content") or "")
    elif kind == "assistant.message":
        if data.get("content"):
            yield "reply", str(data["content"])
        for call in list_objects(data.get("toolRequests")):
            arguments = call.get("arguments")
            if isinstance(arguments, str):
                arguments = {"patch": arguments}
            key = str(call.get("toolCallId"))
            name = str(call.get("name"))
            yield "call", key, name, ensure_object(arguments)
    elif kind == "tool.execution_complete":
        text = transcript_facts.extract_text(data.get("result") or data.get("error"))
        yield "result", str(data.get("toolCallId")), data.get("success") is not True, text
    elif kind == "session.usage_record":
        counts = ensure_object(data.get("usage"))
        yield (
            "usage",
            str(entry.get("id")),
            transcript_facts.read_usage(counts, *_COUNTS, with_cache=True),
        )


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a line (gitcp.agents.reading.edits)."""
    data = ensure_object(entry.get("data"))
    if entry.get("type") == "tool.execution_complete":
        answer: dict[str, Any] = {"failed": data.get("success") is not True}
        if [edit.get("kind") for edit in list_objects(data.get("fileEdits"))] == ["create"]:
            answer["created"] = True
        yield str(data.get("toolCallId")), answer
