"""Reads the transcripts of Factory Droid: JSON lines of {type, id, timestamp, message}.

The client's own texts are blocks of a prompt, and its hooks are messages without blocks.
"""

from __future__ import annotations

from gitcp.agents.transcripts import transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact, Fields

SHOWS_FILES = True  # the output of a tool that reads is the file's content


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return first.is_kind("session_start")


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    return transcript_facts.list_block_facts(entry.get_object("message"))
