"""Reads the transcripts of Cline: one JSON document of messages, written anew each time."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import Fields, Result, transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.agents.transcripts import Fact

_COUNTS = ("inputTokens", "cacheWriteTokens", "cacheReadTokens", "outputTokens")
_CREATED = "File created successfully at:"


def list_messages(parts: Iterable[Fields]) -> list[Fields]:
    """The messages of the document, in order."""
    found: list[Fields] = []
    for part in parts:
        found += part.get_objects("messages")
    return found


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    messages = first.get_objects("messages")
    return bool(messages) and "role" in messages[0] and "type" not in messages[0]


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a message (gitcp.agents.transcripts)."""
    if isinstance(entry.get("ts"), int):
        yield "time", entry.get_word("ts")
    for kind, *fact in transcript_facts.list_block_facts(entry):
        yield kind, *(map(_extract_typed, fact) if kind == "prompt" else fact)
    if isinstance(entry.get("metrics"), dict):
        counts = entry.get_object("metrics")
        usage = transcript_facts.read_usage(counts, *_COUNTS, with_cache=True)
        yield "usage", entry.get_word("id"), usage


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in a message (gitcp.agents.reading.edits)."""
    for block in entry.get_objects("content"):
        if block.is_kind("tool_result"):
            results = block.get_objects("content")
            if isinstance(block.get("content"), str):
                results = [transcripts.read_entry(block.get_text("content"))]
            failures = [result for result in results if result.get("success") is False]
            failed = block.get("is_error") is True or bool(failures)
            created = any(result.get_word("result").startswith(_CREATED) for result in results)
            yield Result(block.get_word("tool_use_id"), failed, created=created)


def _extract_typed(text: str) -> str:
    """A prompt without the element that the client puts around it."""
    head, _, body = text.partition(">")
    inner, end, _ = body.rpartition("</user_input>")
    if head.startswith("<user_input") and end:
        return inner
    return text
