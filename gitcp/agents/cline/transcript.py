"""Reads the transcripts of Cline: one JSON document of messages, written anew each time."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts
from gitcp.text.json import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

_COUNTS = ("inputTokens", "cacheWriteTokens", "cacheReadTokens", "outputTokens")
_CREATED = "File created successfully at:"


def list_messages(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of the document, in order."""
    found: list[dict[str, Any]] = []
    for part in parts:
        found += list_objects(part.get("messages"))
    return found


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    head = (list_messages([first]) or [{}])[0]
    return "role" in head and "type" not in head


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a message (gitcp.agents.transcripts)."""
    if isinstance(entry.get("ts"), int):
        yield "time", str(entry["ts"])
    for kind, *fact in transcript_facts.list_block_facts(entry.get("role"), entry.get("content")):
        yield kind, *(map(_extract_typed, fact) if kind == "prompt" else fact)
    if isinstance(counts := entry.get("metrics"), dict):
        yield (
            "usage",
            str(entry.get("id")),
            transcript_facts.read_usage(counts, *_COUNTS, with_cache=True),
        )


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a message (gitcp.agents.reading.edits)."""
    for block in list_objects(entry.get("content")):
        if block.get("type") == "tool_result":
            content = block.get("content")
            if isinstance(content, str):
                content = [transcripts.load_entry(content) or content]
            results = list_objects(content)
            failures = (result for result in results if result.get("success") is False)
            answer = {"failed": block.get("is_error") is True or any(failures)}
            if any(str(result.get("result")).startswith(_CREATED) for result in results):
                answer["created"] = True
            yield str(block.get("tool_use_id")), answer


def _extract_typed(text: str) -> str:
    """A prompt without the element that the client puts around it."""
    head, _, body = text.partition(">")
    inner, end, _ = body.rpartition("</user_input>")
    if head.startswith("<user_input") and end:
        return inner
    return text
