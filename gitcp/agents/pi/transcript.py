"""Reads the transcripts of Pi: JSON lines, a header, then lines of {type, id, message}."""

from __future__ import annotations

from gitcp.core.transcript import facts, tokens
from gitcp.core.transcript.facts import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Scan
    from gitcp.core.transcript.facts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content
WRITES = ("write", "edit")
_path = facts.make_path_reader("path")


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan data, which follows previous["bytes"] if previous is given; see Scan."""
    return facts.scan(data, list_facts, list_written, previous)


def is_its(first: dict[str, Any]) -> bool:
    """Whether a transcript with this beginning is the client's."""
    return first.get("type") == "session" and "version" in first


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.core.transcript.facts)."""
    message = ensure_object(entry.get("message"))
    role, content = message.get("role"), message.get("content")
    if role == "user":
        yield "prompt", facts.join_texts(content)
    elif role == "toolResult":
        failed = message.get("isError") is True
        yield "result", str(message.get("toolCallId")), failed, facts.extract_text(content)
    elif role == "assistant":
        for block in list_objects(content):
            if block.get("type") == "text":
                yield "reply", str(block.get("text") or "")
            elif block.get("type") == "toolCall":
                key, name = str(block.get("id")), str(block.get("name"))
                yield "call", key, name, ensure_object(block.get("arguments"))
        spent = ensure_object(message.get("usage"))
        counts = (spent.get(key) for key in ("input", "cacheWrite", "cacheRead", "output"))
        fresh, write, read, output = map(tokens.parse_count, counts)
        yield "usage", str(entry.get("id")), tokens.make_usage(fresh, write, read, output, 1)


def list_written(name: str, arguments: dict[str, Any]) -> list[str]:
    """The paths that a call of a tool writes, as its input names them."""
    return _path(arguments) if name in WRITES else []
