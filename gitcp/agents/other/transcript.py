"""Reads transcripts in gitcp's format: JSON lines of type `transcript`
(gitcp-agent-protocol(7))."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields

_WORDS = {"prompt": "prompt", "answer": "reply"}


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is in gitcp's format."""
    return first.is_kind("transcript")


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    if not is_first_entry(entry):
        return
    kind = entry.get("kind")
    tool = entry.get_object("tool")
    if kind in _WORDS:
        yield _WORDS[kind], entry.get_word("text")
    elif kind == "call":
        name = tool.get_word("name") or tool.get_word("kind")
        yield "call", tool.get_word("id"), name, tool.fields
    elif kind == "result":
        failed = entry.get("failed") is True
        yield "result", entry.get_word("id"), failed, entry.get_word("text")
    elif kind == "usage":
        usage = transcript_facts.read_usage(entry, *transcripts.KEYS[:4])
        usage["api_call_count"] = transcripts.parse_count(entry.get("api_call_count")) or 1
        yield "usage", entry.get_word("id"), usage


def list_written_paths(name: str, arguments: Fields) -> list[str]:
    """The paths that a call, in the form of an event record, writes."""
    paths = arguments.get("input_paths")
    if isinstance(paths, list):
        return [path for path in paths if isinstance(path, str)]
    return []
