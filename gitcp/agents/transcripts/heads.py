"""The head of a transcript as far as it names a session."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Head:
    """parent: the session whose task this one is, '' for none.  title: that its client gave it.
    prompt: the last that its person typed, as far as it was read.  may_edit: whether the text may
    have an edit of a file."""

    parent: str = ""
    title: str = ""
    prompt: str = ""
    may_edit: bool = True
