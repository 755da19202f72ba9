"""Parse a search into required words, excluded words and filters."""

from __future__ import annotations

import re
from typing import NamedTuple

from gitcp.agents.transcripts import agent_words, transcript_facts
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypedDict

    from gitcp.text.record_types import Item

    class Query(TypedDict):
        """words: phrases that a turn must have.  without: phrases that it must not have.  filters:
        key of FILTERS -> values, one of which must match."""

        words: list[str]
        without: list[str]
        filters: dict[str, list[str]]

    class FoundTurn(TypedDict):
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


FILTERS = ("agent", "author", "branch", "path", "session")
_PART = re.compile(r'(-?)"([^"]*)"?|(\S+)')
_TOKEN = re.compile(r"\w+")
# What an ASCII text is split by becomes a space.
_SPACED = re.sub(rb"\W", b" ", bytes(range(128))) + bytes(range(128, 256))


def parse_query(text: str) -> Query:
    """The query in a text.

    A word, or a phrase in double quotes, must be there; with `-` before it, it must not.
    `agent:`, `author:`, `branch:`, `path:` and `session:` before a word make it a filter.
    """
    query: Query = {"words": [], "without": [], "filters": {}}
    for minus, phrase, word in _PART.findall(text):
        key, colon, value = word.partition(":")
        if colon and value and key in FILTERS:
            query["filters"].setdefault(key, []).append(value.strip('"'))
        elif word.startswith("-") and len(word) > 1:
            query["without"].append(word[1:])
        elif minus:
            query["without"].append(phrase.strip())
        else:
            query["words"].append((phrase or word).strip())
    query["words"] = [word for word in query["words"] if split_tokens(word)]
    query["without"] = [word for word in query["without"] if split_tokens(word)]
    return query


def add_filters(query: Query, filters: Mapping[str, Sequence[str]]) -> None:
    """Add the filters of options to those of a query."""
    for key, values in filters.items():
        if values:
            query["filters"].setdefault(key, []).extend(values)


def split_tokens(text: str) -> list[str]:
    """The runs of letters, digits and underscores of a text, in lower case."""
    lowered = text.lower()
    if text.isascii():  # in half the time
        return lowered.encode().translate(_SPACED).decode().split()
    return _TOKEN.findall(lowered)


# characters of a piece; pieces for each word
_PIECE = 600
_PIECES = 16


def cut_pieces(texts: Sequence[str], words: Sequence[str]) -> list[str]:
    """For each word the first pieces of long texts with a word that begins as it does without its
    ending."""
    pieces: dict[str, None] = {}
    for word in dict.fromkeys(" ".join(words).split()):
        beginning = re.compile(re.escape(word[: max(3, len(word) - 3)]), re.IGNORECASE)
        found: list[str] = []
        for text in texts:
            end = 0
            while len(found) < _PIECES:
                match = beginning.search(text, end)
                if not match:
                    break
                start = max(end, match.start() - _PIECE // 2)
                end = match.end() + _PIECE // 2
                found.append(text[start:end])
        pieces.update(dict.fromkeys(found))
    return [*pieces]


def quote_phrase(text: str) -> str:
    """A text as a phrase of SQLite's FTS5: its own quotes doubled."""
    return '"' + text.replace('"', '""') + '"'


def build_expression(words: Sequence[str], without: Sequence[str]) -> str:
    """The FTS5 expression for turns that have all of words and none of without; '' for no words."""
    wanted = " AND ".join(map(quote_phrase, words))
    unwanted = " OR ".join(map(quote_phrase, without))
    if wanted and unwanted:
        return f"({wanted}) NOT ({unwanted})"
    return wanted


def build_near(words: Sequence[str]) -> str:
    """The FTS5 expression for turns that have all words within ten of each other; '' for one."""
    if len(words) > 1:
        return f"NEAR({' '.join(map(quote_phrase, words))}, 10)"
    return ""


# Split a transcript into turns, with the texts of each that a search indexes.
_OUTPUT = 1 << 14  # characters of one output that are indexed
_CALL = 2000  # characters of one call
_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path", "filename")
_COMMANDS = ("command", "commands", "cmd", "pattern", "query", "url", "description", "subject")


def cut_turns(items: Iterable[Item], start: int = 0) -> Iterator[FoundTurn]:
    """The turns of the items of a transcript from line, or message, start on; the first may begin
    before it."""
    number = 0
    draft = _Draft(0, "")
    for item in items:
        if item["kind"] == "prompt":
            if draft.has_items:
                yield draft.build_turn()
            number += 1
            draft = _Draft(number, item["text"])
        if item["line"] >= start:
            draft.add_item(item)
    if draft.has_items:
        yield draft.build_turn()


class _Draft:
    """A turn to which items are added."""

    def __init__(self, number: int, prompt: str) -> None:
        self.has_items = False
        self._number = number
        self._prompt = prompt
        self._time = 0
        self._answers: list[str] = []
        self._calls: list[str] = []
        self._files: dict[str, None] = {}
        self._words: set[str] = set()

    def add_item(self, item: Item) -> None:
        """Add the texts of an item."""
        self.has_items = True
        if not self._time and item["time"]:
            self._time = (transcript_facts.parse_time(item["time"]) or 0) // 1_000_000_000
        if item["kind"] == "answer":
            self._answers.append(item["text"])
        elif item["kind"] == "call":
            line, paths = describe_call(item["name"], item["input"])
            self._calls.append(line)
            self._files.update(dict.fromkeys(paths))
        elif item["kind"] == "result":
            self._words.update(split_tokens(item["text"][:_OUTPUT]))

    def build_turn(self) -> FoundTurn:
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


class Call(NamedTuple):
    """A line that describes a tool call, and the paths in its input."""

    line: str
    paths: list[str]


def describe_call(name: str, arguments: object) -> Call:
    """The description of a call of a tool."""
    if isinstance(arguments, str):
        patched = agent_words.list_paths(arguments)
        given = " ".join(patched) or arguments
        return Call(f"{name} {given}"[:_CALL], patched)
    if not isinstance(arguments, dict):
        return Call(name, [])
    values = [arguments.get(key) for key in _PATHS]
    paths = [value for value in values if isinstance(value, str)]
    texts = [_format_value(arguments[key]) for key in _COMMANDS if arguments.get(key)]
    for text in texts:
        paths += agent_words.list_paths(text)
    return Call(" ".join([name, *paths, *texts])[:_CALL], paths)


def _format_value(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(str, value))
    return json.dumps(value)
