"""Derives the edits by commands from the contents of files that a conversation was shown.

A command's output seldom has the content that the command leaves.  The next output with the file
has it, and the last output with the file before the command has the old content.  A line in which
the two contents differ is the command's if the command's text has the line, and nothing showed it
between the old content and the command.
"""

from __future__ import annotations

import os
from collections import deque

from gitcp.agents.transcripts import agent_words
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SHORTEST = 4  # characters of a line that identify it
_LARGEST = 200_000  # characters of a content that is stored
_MOST = 100  # contents, commands and texts that are stored


@value_class
class ShownContent:
    """The content of a file that a turn saw; None if it is not known."""

    text: str | None
    turn: int
    moment: int


@value_class
class Command:
    """A command: its call, its turn, its start in ns since 1970, and its moment."""

    call: str
    turn: int
    at: int
    text: str
    moment: int


@value_class
class ShownEdit:
    """What commands made of a file.  first: the first of them."""

    first: Command
    before: str
    after: str


class Sightings:
    """What a conversation was shown so far, in moments: each text, command or content is one."""

    def __init__(self) -> None:
        self._contents: dict[str, ShownContent] = {}  # by path
        self._commands: deque[Command] = deque(maxlen=_MOST)
        self._texts: deque[tuple[int, str]] = deque(maxlen=_MOST)  # moment, text
        self._moment = 0

    def note_text(self, text: str) -> None:
        """Note a text that the conversation was shown."""
        self._moment += 1
        self._texts.append((self._moment, text))

    def note_command(self, call: str, turn: int, at: int, text: str) -> None:
        """Note a command that began."""
        self._moment += 1
        if agent_words.may_bring_lines(text):
            self._contents.clear()  # any file may have other lines now
        self._commands.append(Command(call, turn, at, text, self._moment))

    def note_content(self, path: str, content: str | None, turn: int) -> None:
        """Note the content of a file; None if unknown."""
        self._moment += 1
        self._contents.pop(path, None)
        if content is not None and len(content) <= _LARGEST:
            self._contents[path] = ShownContent(content, turn, self._moment)
            if len(self._contents) > _MOST:
                self._contents.pop(next(iter(self._contents)))

    def note_edit(self, path: str, details: dict[str, Any], turn: int) -> None:
        """Note the content that an edit left, as far as it is known.

        details: what is known of the edit.
        """
        before = details.get("original")
        if before is None and path in self._contents:
            before = self._contents[path].text
        after = details.get("content")
        if after is None and before is not None and "edits" in details:
            after = agent_words.apply_edits(details["edits"], before, trusted=True)
        self.note_content(path, after, turn)

    def find_before(self, path: str, content: str, turn: int, call: str) -> str | None:
        """The content of a file before a call wrote this content; None if unknown, or if some lines
        may come from elsewhere."""
        seen = self._find_content(path, turn)
        later = self._list_commands(path, seen.moment)
        if seen.text is None or any(command.call != call for command in later):
            return None
        starts = (command.moment for command in self._commands if command.call == call)
        end = min(starts, default=self._moment + 1)
        if self._is_unseen(seen.text, content, seen.moment, end):
            return seen.text
        return None

    def find_edit(self, path: str, content: str, turn: int) -> ShownEdit | None:
        """Note a file's new content, and find the edit by which commands of this turn made it; None
        if no command since the old content names the file and has new lines in its text."""
        seen = self._find_content(path, turn)
        before = seen.text
        later = self._list_commands(path, seen.moment)
        self.note_content(path, content, turn)
        if before is None or not later:
            return None
        after = agent_words.take_own(before, content, "\n".join(each.text for each in later))
        if after == before or not self._is_unseen(before, after, seen.moment, later[0].moment):
            return None
        return ShownEdit(later[0], before, after)

    def _find_content(self, path: str, turn: int) -> ShownContent:
        """What a turn saw last of a file; the content is not known if only another turn saw it."""
        seen = self._contents.get(path, ShownContent(None, turn, 0))
        if seen.turn == turn:
            return seen
        return ShownContent(None, turn, seen.moment)

    def _list_commands(self, path: str, moment: int) -> list[Command]:
        """The commands after a moment whose text has a file's name."""
        name = os.path.basename(path)
        later = (command for command in self._commands if command.moment > moment)
        return [command for command in later if name in command.text]

    def _is_unseen(self, before: str, after: str, since: int, until: int) -> bool:
        """Whether no text that was shown between two moments has one of the new lines."""
        if len(self._texts) == _MOST and self._texts[0][0] > since:
            return False
        old_lines = set(before.split("\n"))
        new_lines = {line.strip() for line in after.split("\n") if line not in old_lines}
        texts = [text for moment, text in self._texts if since < moment < until]
        return not any(
            len(line) >= _SHORTEST and line in text for line in new_lines for text in texts
        )
