"""The contents of files that a conversation was shown, and the edits by commands between them.

A command seldom shows the content that it leaves.  The next output with the file does, and the last
one before shows the old content.  Lines in which they differ are the command's if its text has them
and the conversation was not shown them meanwhile from elsewhere.
"""

from __future__ import annotations

import os
from collections import deque

from gitcp.core.transcript import commands, own_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    class Run(TypedDict):
        """A command: its call, its turn, and its start in ns since 1970."""

        call: str
        turn: int
        at: int
        words: str
        moment: int


_LEAST = 4  # characters of a line that identify it
_LARGEST = 200_000  # characters of a content that is stored
_MANY = 100  # contents, commands and texts that are stored


class Sightings:
    """The files of a conversation as far as it has been read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, int, int]] = {}  # path -> content, turn, moment
        self._runs: deque[Run] = deque(maxlen=_MANY)
        self._texts: deque[tuple[int, str]] = deque(maxlen=_MANY)
        self._moment = 0

    def note_text(self, text: str) -> None:
        """Note a text that the conversation was shown."""
        self._moment += 1
        self._texts.append((self._moment, text))

    def note_run(self, call: str, turn: int, at: int, words: str) -> None:
        """Note a command that began."""
        self._moment += 1
        moment = self._moment
        if commands.may_bring_lines(words):
            self._known.clear()
        self._runs.append({"call": call, "turn": turn, "at": at, "words": words, "moment": moment})

    def note_content(self, path: str, content: str | None, turn: int) -> None:
        """Note the content of a file; None if unknown."""
        self._moment += 1
        self._known.pop(path, None)
        if content is not None and len(content) <= _LARGEST:
            self._known[path] = content, turn, self._moment
            if len(self._known) > _MANY:
                self._known.pop(next(iter(self._known)))

    def note_edit(self, path: str, tells: dict[str, Any], turn: int) -> None:
        """Note the content that a call made, as far as it is known."""
        before = tells.get("original", self._known.get(path, (None,))[0])
        after = tells.get("content")
        if after is None and before is not None and "edits" in tells:
            after = before
            for old, new, everywhere in tells["edits"]:
                if not old or old not in after:
                    after = None
                    break
                after = after.replace(old, new, -1 if everywhere else 1)
        self.note_content(path, after, turn)

    def find_before(self, path: str, content: str, turn: int, call: str) -> str | None:
        """The content of a file before a call wrote this content; None if unknown, or if some lines
        may come from elsewhere."""
        before, since, moment = self._known.get(path, ("", 0, 0))
        runs = [run for run in self._runs if run["call"] != call]
        if not moment or since != turn or self._list_runs(runs, path, moment):
            return None
        began = (run["moment"] for run in self._runs if run["call"] == call)
        until = min(began, default=self._moment + 1)
        return before if self._has_own_lines(before, content, moment, until) else None

    def find_made(self, path: str, content: str, turn: int) -> tuple[Run, dict[str, Any]] | None:
        """(the first command, the edit in a client's form) of the commands of this turn whose text
        has lines of a file's new content."""
        before, since, moment = self._known.get(path, ("", 0, 0))
        runs = self._list_runs(self._runs, path, moment)
        self.note_content(path, content, turn)
        if not moment or since != turn or not runs:
            return None
        after = own_words.take_own(before, content, "\n".join(run["words"] for run in runs))
        if after == before or not self._has_own_lines(before, after, moment, runs[0]["moment"]):
            return None
        return runs[0], {"original": before, "content": after}

    def _list_runs(self, runs: Iterable[Run], path: str, moment: int) -> list[Run]:
        name = os.path.basename(path)
        return [run for run in runs if run["moment"] > moment and name in run["words"]]

    def _has_own_lines(self, before: str, after: str, since: int, until: int) -> bool:
        """Whether no text shown between two moments has one of the new lines."""
        if len(self._texts) == _MANY and self._texts[0][0] > since:
            return False
        had = set(before.split("\n"))
        came = {line.strip() for line in after.split("\n") if line not in had}
        texts = [text for moment, text in self._texts if since < moment < until]
        return not any(len(line) >= _LEAST and line in text for line in came for text in texts)
