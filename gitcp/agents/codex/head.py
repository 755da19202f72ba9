"""The head of a transcript of Codex: whose task the session is."""

from __future__ import annotations

from gitcp.agents.transcripts import load_entry
from gitcp.agents.transcripts.heads import Head
from gitcp.text.json import ensure_object


def read_head(data: bytes) -> Head:
    """The head of a transcript, by its first line."""
    entry = load_entry(data.partition(b"\n")[0]) or {}
    return Head(str(ensure_object(entry.get("payload")).get("parent_thread_id") or ""))
