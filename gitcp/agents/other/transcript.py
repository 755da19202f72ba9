"""Reads transcripts in gitcp's format: JSON lines of type `transcript`
(gitcp-agent-protocol(7))."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts
from gitcp.text.json import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

_WORDS = {"prompt": "prompt", "answer": "reply"}


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is in gitcp's format."""
    return first.get("type") == "transcript"


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    if entry.get("type") != "transcript":
        return
    kind = entry.get("kind")
    tool = ensure_object(entry.get("tool"))
    if kind in _WORDS:
        yield _WORDS[kind], str(entry.get("text") or "")
    elif kind == "call":
        yield "call", str(tool.get("id")), str(tool.get("name") or tool.get("kind")), tool
    elif kind == "result":
        failed = entry.get("failed") is True
        yield "result", str(entry.get("id")), failed, str(entry.get("text") or "")
    elif kind == "usage":
        usage = transcript_facts.read_usage(entry, *transcripts.KEYS[:4])
        usage["api_call_count"] = transcripts.parse_count(entry.get("api_call_count")) or 1
        yield "usage", str(entry.get("id")), usage


def list_written_paths(name: str, arguments: dict[str, Any]) -> list[str]:
    """The paths that a call, in the form of an event record, writes."""
    paths = arguments.get("input_paths")
    if isinstance(paths, list):
        return [path for path in paths if isinstance(path, str)]
    return []
