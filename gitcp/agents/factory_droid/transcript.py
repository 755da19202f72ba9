"""Reads the transcripts of Factory Droid: JSON lines of {type, id, timestamp, message}.

The client's own texts are blocks of a prompt, and its hooks are messages without blocks.
"""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return first.get("type") == "session_start"


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    message = json.ensure_object(entry.get("message"))
    return transcript_facts.list_block_facts(message.get("role"), message.get("content"))
