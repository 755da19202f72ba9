"""Split a transcript into turns, with the texts of each that a search indexes."""

from __future__ import annotations

from gitcp.agents.reading.items import list_items
from gitcp.core import json
from gitcp.core.search import query
from gitcp.core.transcript import apply_patch, tool_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from gitcp.agents.reading.items import Item

    class Turn(TypedDict):
        """number: of its prompt in the session, from 1.  time: seconds since 1970, 0 if unknown.
        calls: a line for each; files: the paths that calls name; outputs: the distinct words of
        their results."""

        number: int
        time: int
        prompt: str
        answer: str
        calls: str
        files: list[str]
        outputs: str


_OUTPUT = 1 << 14  # characters of one output that are indexed
_CALL = 2000  # characters of one call
_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path", "filename")
_COMMANDS = ("command", "commands", "cmd", "pattern", "query", "url", "description", "subject")


def cut_turns(transcript: bytes, start: int = 0) -> Iterator[Turn]:
    """The turns of a transcript from line, or message, start on; the first may begin before it."""
    number, draft = 0, _Draft(0, "")
    for item in list_items(transcript):
        if item["kind"] == "prompt":
            if draft.begun:
                yield draft.build_turn()
            number += 1
            draft = _Draft(number, item["text"])
        if item["line"] >= start:
            draft.add_item(item)
    if draft.begun:
        yield draft.build_turn()


class _Draft:
    """A turn to which items are added."""

    def __init__(self, number: int, prompt: str) -> None:
        self.begun = False
        self._number, self._prompt, self._time = number, prompt, 0
        self._answers: list[str] = []
        self._calls: list[str] = []
        self._files: dict[str, None] = {}
        self._words: set[str] = set()

    def add_item(self, item: Item) -> None:
        """Add the texts of an item."""
        self.begun = True
        if not self._time and item["time"]:
            self._time = (tool_ends.parse_time(item["time"]) or 0) // 1_000_000_000
        if item["kind"] == "answer":
            self._answers.append(item["text"])
        elif item["kind"] == "call":
            line, paths = describe_call(item["name"], item["input"])
            self._calls.append(line)
            self._files.update(dict.fromkeys(paths))
        elif item["kind"] == "result":
            self._words.update(query.split_tokens(item["text"][:_OUTPUT]))

    def build_turn(self) -> Turn:
        """The turn with the items added so far."""
        return {
            "number": self._number,
            "time": self._time,
            "prompt": self._prompt,
            "answer": "\n".join(self._answers),
            "calls": "\n".join(self._calls),
            "files": list(self._files),
            "outputs": " ".join(sorted(self._words)),
        }


def describe_call(name: str, arguments: object) -> tuple[str, list[str]]:
    """(a line that describes a tool call, the paths in its input)."""
    if isinstance(arguments, str):
        patched = apply_patch.list_paths(arguments)
        return f"{name} {' '.join(patched) if patched else arguments}"[:_CALL], patched
    if not isinstance(arguments, dict):
        return name, []
    paths = [value for key in _PATHS if isinstance(value := arguments.get(key), str)]
    texts = [_format_value(arguments[key]) for key in _COMMANDS if arguments.get(key)]
    for text in texts:
        paths += apply_patch.list_paths(text)
    return " ".join([name, *paths, *texts])[:_CALL], paths


def _format_value(value: object) -> str:
    if isinstance(value, str):
        return value
    return " ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)
