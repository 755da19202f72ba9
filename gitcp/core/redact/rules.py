"""Find secrets in a text by the table of their formats, secrets.json.

A rule has a name, a pattern, its source, and where to search.  "run": the secret is in a run (see
RUN) of SHORTEST bytes or more.  "near": a keyword is in a run or, with a dot or colon, at most 24
bytes before one.  "text": anywhere.  Each match for the first two contains one of the rule's
keywords.  The groups of a pattern, if any, are the secret, from the first to the last.

A pattern for texts begins with a literal, its first letter a rare one: `re` passes other letters
two to three times as fast as `in` does.
"""

from __future__ import annotations

import os

from gitcp.core import json
from gitcp.core.redact import patterns
from gitcp.core.redact.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterable, Iterator
    from typing import TypedDict

    Secret = tuple[str, int, int]
    Rule = TypedDict(
        "Rule",
        {
            "name": str,
            "pattern": str,
            "keywords": list[str],
            "in": str,
            "about": str,
            "source": str,
        },
    )

# A run is a longest stretch of the letters a token or a base64 text is made of.
RUN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz/+_=-"
SHORTEST = 20
_MARK = bytes(97 if byte in RUN else 32 for byte in range(256))
_LONG = b"a" * SHORTEST
# Letters in the keywords of many rules and in few long runs: base64 has neither.
_MARKS = (b"_", b"-", b"")


def find_runs(flat: bytes) -> list[tuple[int, int]]:
    """The [start, end) of every run of at least SHORTEST bytes, in order."""
    marks, spans, end = flat.translate(_MARK), list[tuple[int, int]](), 0
    while (start := marks.find(_LONG, end)) >= 0:
        end = marks.find(b" ", start)
        end = len(marks) if end < 0 else end
        spans.append((start, end))
    return spans


def read_rules() -> list[Rule]:
    """The rules of secrets.json, in its order."""
    with open(os.path.join(os.path.dirname(__file__), "secrets.json"), "rb") as file:
        table: list[Rule] = json.loads(file.read())["rules"]
    return table


def prepare_formats() -> None:
    """Fill FORMATS from the rules, unless it was stored."""
    formats = patterns.FORMATS
    if formats:
        return
    table = [
        (rule["name"], rule["pattern"].encode(), _encode_keywords(rule), rule["in"])
        for rule in read_rules()
    ]
    formats["words"] = [(_choose_mark(rule[2]), *rule[:3]) for rule in table if rule[3] == "run"]
    formats["text"] = [rule for rule in table if rule[3] != "run"]


class Formats:
    """The rules; each is compiled when it is first needed."""

    def __init__(self) -> None:
        prepare_formats()
        self._of_words, self._of_text = patterns.FORMATS["words"], patterns.FORMATS["text"]
        self._compiled: dict[str, re.Pattern[bytes]] = {}

    def find_in_words(self, words: Collection[bytes]) -> Iterator[tuple[bytes, Secret]]:
        """Yield (word, (rule, start, end)) of the matches of the rules for runs."""
        marked = {mark: [word for word in words if mark in word] for mark in _MARKS}
        blobs = {mark: b"\n".join(marked[mark]) for mark in _MARKS}
        for mark, name, source, keys in self._of_words if words else ():
            blob = blobs[mark]
            if _has_any(keys, blob) and (pattern := self._get_pattern(name, source)).search(blob):
                for word in marked[mark]:
                    yield from ((word, secret) for secret in _find_matches(name, pattern, word))

    def find_in_text(self, flat: bytes, spans: Iterable[tuple[int, int]]) -> Iterator[Secret]:
        """Yield (rule, start, end) of the matches of the other rules; spans: the runs of flat."""
        blob = b"\n".join(
            {flat[start:end] for start, end in spans}
            | {flat[max(0, a - 24) : b] for a, b in spans if a and flat[a - 1] in b".:"}
        )
        for name, source, keys, where in self._of_text:
            if where == "text" or _has_any(keys, blob):
                yield from _find_matches(name, self._get_pattern(name, source), flat)

    def _get_pattern(self, name: str, source: bytes) -> re.Pattern[bytes]:
        if name not in self._compiled:
            self._compiled[name] = load_pattern(source)
        return self._compiled[name]


def _choose_mark(keys: tuple[bytes, ...]) -> bytes:
    """The first of _MARKS that all keys have."""
    return next(mark for mark in _MARKS if all(mark in key for key in keys))


def _has_any(keys: tuple[bytes, ...], text: bytes) -> bool:
    return any(map(text.__contains__, keys))


def _find_matches(name: str, pattern: re.Pattern[bytes], text: bytes) -> Iterator[Secret]:
    first, last = min(1, pattern.groups), pattern.groups
    return ((name, m.start(first), m.end(last)) for m in pattern.finditer(text))


def _encode_keywords(rule: Rule) -> tuple[bytes, ...]:
    return tuple(keyword.encode() for keyword in rule["keywords"])
