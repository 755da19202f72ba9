"""Reads the transcripts of Cline: one JSON document of messages, written anew each time."""

from __future__ import annotations

from gitcp.core.transcript import apply_patch, facts, tokens, transcript_scan
from gitcp.core.transcript.facts import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Scan, Usage
    from gitcp.core.transcript.facts import Fact

WRITES = ("editor", "write_to_file", "replace_in_file")
_CREATED = "File created successfully at:"
_path = facts.make_path_reader("path", "file_path")


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan a whole document; `bytes` of the result is 0, previous is not used.  See Scan."""
    document = transcript_scan.load(data) or {}
    return facts.scan_document(list_messages(document), list_facts, list_written)


def list_messages(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of the document, in order."""
    return list_objects(document.get("messages"))


def is_its(first: dict[str, Any]) -> bool:
    """Whether a transcript with this beginning is the client's."""
    head = (list_messages(first) or [{}])[0]
    return "role" in head and "type" not in head


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a message (gitcp.core.transcript.facts)."""
    role = entry.get("role")
    if isinstance(entry.get("ts"), int):
        yield "time", str(entry["ts"])
    for block in list_objects(entry.get("content")):
        kind = block.get("type")
        if kind == "text" and role == "user":
            yield "prompt", _extract_typed(str(block.get("text") or ""))
        elif kind == "text":
            yield "reply", str(block.get("text") or "")
        elif kind == "tool_use":
            key, name = str(block.get("id")), str(block.get("name"))
            yield "call", key, name, ensure_object(block.get("input"))
        elif kind == "tool_result":
            text, failed = facts.extract_text(block.get("content")), block.get("is_error") is True
            yield "result", str(block.get("tool_use_id")), failed, text
    if isinstance(entry.get("metrics"), dict):
        yield "usage", str(entry.get("id")), _read_usage(entry["metrics"])


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a message (gitcp.agents.reading.edits)."""
    for block in list_objects(entry.get("content")):
        if block.get("type") == "tool_result":
            content = block.get("content")
            if isinstance(content, str):
                content = [transcript_scan.load(content.encode()) or content]
            done = list_objects(content)
            failed = block.get("is_error") is True or any(
                one.get("success") is False for one in done
            )
            answer: dict[str, Any] = {"failed": failed}
            if any(str(one.get("result")).startswith(_CREATED) for one in done):
                answer["created"] = True
            yield str(block.get("tool_use_id")), answer


def list_written(name: str, arguments: dict[str, Any]) -> list[str]:
    """The paths that a call of a tool writes, as its input names them."""
    if name == "apply_patch":
        texts = (value for value in arguments.values() if isinstance(value, str))
        return apply_patch.list_paths("\n".join(texts))
    return _path(arguments) if name in WRITES else []


def _extract_typed(text: str) -> str:
    """A prompt without the element that the client puts around it."""
    head, _, rest = text.partition(">")
    inner, end, _ = rest.rpartition("</user_input>")
    return inner if head.startswith("<user_input") and end else text


def _read_usage(counts: dict[str, Any]) -> Usage:
    """inputTokens includes the tokens read from the cache and written to it."""
    names = ("inputTokens", "cacheWriteTokens", "cacheReadTokens", "outputTokens")
    whole, write, read, output = (tokens.parse_count(counts.get(name)) for name in names)
    return tokens.make_usage(max(0, whole - write - read), write, read, output, 1)
