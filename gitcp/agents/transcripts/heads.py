"""The head of a transcript as far as it names a session."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Head:
    """parent: the session whose task this one is, '' for none.  title: that its client gave it.
    prompt: the last that its person typed, '' for none and of a task, None if it was not read.
    may_edit: whether the text may have an edit of a file, as far as that was looked at."""

    parent: str = ""
    title: str = ""
    prompt: str | None = None
    may_edit: bool = True

    @property
    def is_idle(self) -> bool:
        """Whether it is a task that edited nothing."""
        return self.parent != "" and not self.may_edit
