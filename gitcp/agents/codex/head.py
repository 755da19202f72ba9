"""The head of a transcript of Codex: whose task the session is."""

from __future__ import annotations

from gitcp.agents.transcripts import read_entry
from gitcp.agents.transcripts.heads import Head


def read_head(data: bytes) -> Head:
    """The head of a transcript, by its first line."""
    payload = read_entry(data.partition(b"\n")[0]).get_object("payload")
    return Head(payload.get_word("parent_thread_id"))
