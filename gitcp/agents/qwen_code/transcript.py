"""Reads the transcripts of Qwen Code: JSON lines as Claude Code's, messages as Gemini's."""

from __future__ import annotations

from gitcp.agents.gemini_cli.transcript import read_display
from gitcp.agents.transcripts import transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields, Result

SHOWS_FILES = True  # the output of a tool that reads is the file's content
_COUNTS = ("promptTokenCount", "", "cachedContentTokenCount", "candidatesTokenCount")


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return "systemPayload" in first or "parts" in first.get_object("message")


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    kind = entry.get("type")
    message = entry.get_object("message")
    parts = message.get_objects("parts")
    if kind == "user":
        yield "prompt", transcript_facts.join_texts(message.get("parts"))
    elif kind == "assistant":
        for part in parts:
            call = part.get_object("functionCall")
            if call:
                given = call.get_object("args").fields
                yield "call", call.get_word("id"), call.get_word("name"), given
            elif isinstance(part.get("text"), str) and part.get("thought") is not True:
                yield "reply", part.get("text")
        if isinstance(entry.get("usageMetadata"), dict):
            counts = entry.get_object("usageMetadata")
            usage = transcript_facts.read_usage(counts, *_COUNTS, with_cache=True)
            yield "usage", entry.get_word("uuid"), usage
    elif kind == "tool_result":
        for part in parts:
            answer = part.get_object("functionResponse")
            response = answer.get_object("response")
            text = transcript_facts.extract_text(response.fields)
            yield "result", answer.get_word("id"), bool(response.get("error")), text


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in an entry (gitcp.agents.reading.edits)."""
    result = entry.get_object("toolCallResult")
    if result:
        yield read_display(result, result.get_word("callId"))
