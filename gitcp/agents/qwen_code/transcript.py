"""Reads the transcripts of Qwen Code: JSON lines as Claude Code's, messages as Gemini's."""

from __future__ import annotations

from gitcp.agents.gemini_cli.transcript import read_display
from gitcp.agents.transcripts import transcript_facts
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content
_COUNTS = ("promptTokenCount", "", "cachedContentTokenCount", "candidatesTokenCount")


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return "systemPayload" in first or "parts" in ensure_object(first.get("message"))


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    kind = entry.get("type")
    parts = list_objects(ensure_object(entry.get("message")).get("parts"))
    if kind == "user":
        yield "prompt", transcript_facts.join_texts(parts)
    elif kind == "assistant":
        for part in parts:
            call = ensure_object(part.get("functionCall"))
            if call:
                key = str(call.get("id"))
                name = str(call.get("name"))
                yield "call", key, name, ensure_object(call.get("args"))
            elif isinstance(part.get("text"), str) and part.get("thought") is not True:
                yield "reply", part["text"]
        if isinstance(counts := entry.get("usageMetadata"), dict):
            usage = transcript_facts.read_usage(counts, *_COUNTS, with_cache=True)
            yield "usage", str(entry.get("uuid")), usage
    elif kind == "tool_result":
        for part in parts:
            answer = ensure_object(part.get("functionResponse"))
            response = ensure_object(answer.get("response"))
            text = transcript_facts.extract_text(response)
            yield "result", str(answer.get("id")), bool(response.get("error")), text


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of an entry (gitcp.agents.reading.edits)."""
    result = ensure_object(entry.get("toolCallResult"))
    if result:
        answer = {"failed": result.get("status") != "success"}
        yield str(result.get("callId")), {**answer, **read_display(result.get("resultDisplay"))}
