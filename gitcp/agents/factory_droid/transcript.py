"""Reads the transcripts of Factory Droid: JSON lines of {type, id, timestamp, message}.

The client's own texts are blocks of a prompt, and its hooks are messages without blocks.
"""

from __future__ import annotations

from gitcp.core.transcript import facts
from gitcp.core.transcript.facts import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Scan
    from gitcp.core.transcript.facts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content
WRITES = ("Create", "Edit")
_path = facts.make_path_reader("file_path")


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan data, which follows previous["bytes"] if previous is given; see Scan."""
    return facts.scan(data, list_facts, list_written, previous)


def is_its(first: dict[str, Any]) -> bool:
    """Whether a transcript with this beginning is the client's."""
    return first.get("type") == "session_start"


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.core.transcript.facts)."""
    message = ensure_object(entry.get("message"))
    for block in list_objects(message.get("content")):
        kind = block.get("type")
        if kind == "text":
            whose = "prompt" if message.get("role") == "user" else "reply"
            yield whose, str(block.get("text") or "")
        elif kind == "tool_use":
            key, name = str(block.get("id")), str(block.get("name"))
            yield "call", key, name, ensure_object(block.get("input"))
        elif kind == "tool_result":
            failed = block.get("is_error") is True
            text = facts.extract_text(block.get("content"))
            yield "result", str(block.get("tool_use_id")), failed, text


def list_written(name: str, arguments: dict[str, Any]) -> list[str]:
    """The paths that a call of a tool writes, as its input names them."""
    return _path(arguments) if name in WRITES else []
