"""The head of a transcript of opencode: whose task the session is, and its title."""

from __future__ import annotations

import json
import re

from gitcp.agents.transcripts import Fields
from gitcp.agents.transcripts.heads import Head

_LONGEST = 1 << 16  # characters that are searched for the session
_INFO = re.compile(r'\{\s*"info"\s*:\s*')
_UNTITLED = ("New session - ", "Child session - ")  # what a session is called until it has a title


def read_head(data: bytes) -> Head:
    """The head of a transcript: of a document, or of lines."""
    text = data[:_LONGEST].decode(errors="replace")
    begins = _INFO.match(text)
    if not begins:
        return Head()
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begins.end())
    except ValueError:
        return Head()
    info = Fields(value)
    title = info.get_word("title")
    if title.startswith(_UNTITLED):
        title = ""
    return Head(info.get_word("parentID"), title)
