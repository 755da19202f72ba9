"""Reads the transcripts of Copilot CLI: JSON lines of {type, data, id, timestamp}."""

from __future__ import annotations

from gitcp.core.transcript import apply_patch, facts, tokens
from gitcp.core.transcript.facts import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Scan, Usage
    from gitcp.core.transcript.facts import Fact

WRITES = ("create", "edit", "str_replace_editor")
_path = facts.make_path_reader("path", "file_path")


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan data, which follows previous["bytes"] if previous is given; see Scan."""
    return facts.scan(data, list_facts, list_written, previous)


def is_its(first: dict[str, Any]) -> bool:
    """Whether a transcript with this beginning is the client's."""
    return "data" in first and "." in str(first.get("type"))


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.core.transcript.facts).  A subagent's lines name it."""
    kind, data = entry.get("type"), ensure_object(entry.get("data"))
    if kind == "user.message" and not entry.get("agentId"):
        yield "prompt", str(data.get("content") or "")
    elif kind == "assistant.message":
        if data.get("content"):
            yield "reply", str(data["content"])
        for call in list_objects(data.get("toolRequests")):
            arguments = call.get("arguments")
            if isinstance(arguments, str):
                arguments = {"patch": arguments}
            yield (
                "call",
                str(call.get("toolCallId")),
                str(call.get("name")),
                ensure_object(arguments),
            )
    elif kind == "tool.execution_complete":
        arguments = facts.extract_text(data.get("result") or data.get("error"))
        yield "result", str(data.get("toolCallId")), data.get("success") is not True, arguments
    elif kind == "session.usage_record":
        yield "usage", str(entry.get("id")), _read_usage(ensure_object(data.get("usage")))


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a line (gitcp.agents.reading.edits)."""
    data = ensure_object(entry.get("data"))
    if entry.get("type") == "tool.execution_complete":
        answer: dict[str, Any] = {"failed": data.get("success") is not True}
        if [edit.get("kind") for edit in list_objects(data.get("fileEdits"))] == ["create"]:
            answer["created"] = True
        yield str(data.get("toolCallId")), answer


def list_written(name: str, arguments: dict[str, Any]) -> list[str]:
    """The paths that a call of a tool writes, as its input names them."""
    if name == "apply_patch":
        return apply_patch.list_paths(str(arguments.get("patch") or arguments.get("input") or ""))
    return _path(arguments) if name in WRITES else []


def _read_usage(counts: dict[str, Any]) -> Usage:
    """inputTokens includes the tokens read from the cache and written to it."""
    names = ("inputTokens", "cacheWriteTokens", "cacheReadTokens", "outputTokens")
    whole, write, read, output = (tokens.parse_count(counts.get(name)) for name in names)
    return tokens.make_usage(max(0, whole - write - read), write, read, output, 1)
