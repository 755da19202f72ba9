"""Reads the transcripts of Qwen Code: JSON lines as Claude Code's, messages as Gemini's."""

from __future__ import annotations

from gitcp.agents.gemini_cli.transcript import read_display
from gitcp.core.transcript import facts, tokens
from gitcp.core.transcript.facts import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Scan, Usage
    from gitcp.core.transcript.facts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content
WRITES = ("write_file", "edit", "replace")
_path = facts.make_path_reader("file_path", "path")


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan data, which follows previous["bytes"] if previous is given; see Scan."""
    return facts.scan(data, list_facts, list_written, previous)


def is_its(first: dict[str, Any]) -> bool:
    """Whether a transcript with this beginning is the client's."""
    return "systemPayload" in first or "parts" in ensure_object(first.get("message"))


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.core.transcript.facts)."""
    kind, parts = entry.get("type"), list_objects(ensure_object(entry.get("message")).get("parts"))
    if kind == "user":
        yield "prompt", facts.join_texts(parts)
    elif kind == "assistant":
        for part in parts:
            call = ensure_object(part.get("functionCall"))
            if call:
                key, name = str(call.get("id")), str(call.get("name"))
                yield "call", key, name, ensure_object(call.get("args"))
            elif isinstance(part.get("text"), str) and part.get("thought") is not True:
                yield "reply", part["text"]
        if isinstance(entry.get("usageMetadata"), dict):
            yield "usage", str(entry.get("uuid")), _read_usage(entry["usageMetadata"])
    elif kind == "tool_result":
        for part in parts:
            answer = ensure_object(part.get("functionResponse"))
            response = ensure_object(answer.get("response"))
            failed = bool(response.get("error"))
            yield "result", str(answer.get("id")), failed, facts.extract_text(response)


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of an entry (gitcp.agents.reading.edits)."""
    result = ensure_object(entry.get("toolCallResult"))
    if result:
        failed = result.get("status") != "success"
        contents = read_display(result.get("resultDisplay"))
        yield str(result.get("callId")), {"failed": failed, **contents}


def list_written(name: str, arguments: dict[str, Any]) -> list[str]:
    """The paths that a call of a tool writes, as its input names them."""
    return _path(arguments) if name in WRITES else []


def _read_usage(counts: dict[str, Any]) -> Usage:
    """The prompt's tokens include those from the cache."""
    names = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount")
    whole, read, output = (tokens.parse_count(counts.get(name)) for name in names)
    return tokens.make_usage(max(0, whole - read), 0, read, output, 1)
