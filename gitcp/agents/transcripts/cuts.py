"""What the clients' modules `cut` give: prompts with their places, and conversations that were cut.

A leaf names the line with which a conversation ends.
"""

from __future__ import annotations

from typing import NamedTuple


class Prompt(NamedTuple):
    """A person's prompt.  time: as written, '' if unknown; leaf: the one before it."""

    text: str
    time: str
    leaf: str


class Leaves(NamedTuple):
    """The leaves of exact cuts before and after a call; '' for none."""

    before: str
    after: str


class CutTranscript(NamedTuple):
    """A conversation that was cut, b'' if it has no such leaf.  notes: a sentence for each kind of
    thing that was left out."""

    data: bytes
    notes: list[str]


NOT_FOUND = CutTranscript(b"", [])
