"""Parse a search into required words, excluded words and filters."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    class Query(TypedDict):
        """words: phrases that a turn must have.  without: phrases that it must not have.  filters:
        key of FILTERS -> values, one of which must match."""

        words: list[str]
        without: list[str]
        filters: dict[str, list[str]]


FILTERS = ("agent", "author", "branch", "path", "session")
_PART = re.compile(r'(-?)"([^"]*)"?|(\S+)')
_TOKEN = re.compile(r"\w+")


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
        elif text_part := (phrase or word).strip():
            query["without" if minus else "words"].append(text_part)
    query["words"] = [word for word in query["words"] if split_tokens(word)]
    query["without"] = [word for word in query["without"] if split_tokens(word)]
    return query


def add_filters(query: Query, more: Mapping[str, Sequence[str]]) -> None:
    """Add the filters of options to those of a query."""
    for key, values in more.items():
        if values:
            query["filters"].setdefault(key, []).extend(values)


def split_tokens(text: str) -> list[str]:
    """The runs of letters, digits and underscores of a text, in lower case."""
    return _TOKEN.findall(text.lower())


def quote_phrase(text: str) -> str:
    """A text as a phrase of SQLite's FTS5: its own quotes doubled."""
    return '"' + text.replace('"', '""') + '"'


def build_expression(words: Sequence[str], without: Sequence[str]) -> str:
    """The FTS5 expression for turns that have all of words and none of without; '' for no words."""
    wanted = " AND ".join(map(quote_phrase, words))
    unwanted = " OR ".join(map(quote_phrase, without))
    return f"({wanted}) NOT ({unwanted})" if wanted and unwanted else wanted


def build_near(words: Sequence[str]) -> str:
    """The FTS5 expression for turns that have all words within ten of each other; '' for one."""
    return f"NEAR({' '.join(map(quote_phrase, words))}, 10)" if len(words) > 1 else ""
