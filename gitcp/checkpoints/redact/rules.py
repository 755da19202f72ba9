"""The known forms of secrets, which are the table in secrets.json.

A rule has a name, a pattern, its source, and where to search.  "run": the secret is in a run (see
RUN) of SHORTEST bytes or more.  "near": a keyword is in a run or, with a dot or colon, at most 24
bytes before one.  "text": anywhere.  Each match for the first two contains one of the rule's
keywords.  The groups of a pattern, if any, are the secret, from the first to the last.

A pattern for texts begins with a literal, its first letter a rare one: `re` passes other letters
two to three times as fast as `in` does.
"""

from __future__ import annotations

import os

from gitcp.text import json, patterns
from gitcp.text.patterns import load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterable, Iterator
    from typing import TypedDict

    from gitcp.checkpoints.redact.json_values import Secret, Span

    Row = TypedDict(
        "Row",
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
# A token that a manual shows: `ghp_xxxx…`.
_FILLER = load_pattern(rb"x{8}|X{8}")
_MOST_FILLED = 256  # bytes of such a token
# Letters in the keywords of many rules and in few long runs: base64 has neither.
_MARKS = (b"_", b"-", b"")
_NEAR = 24  # bytes before a run


def find_runs(flat: bytes) -> list[Span]:
    """The [start, end) of every run of at least SHORTEST bytes, in order."""
    marks = flat.translate(_MARK)
    spans = list[tuple[int, int]]()
    end = 0
    while True:
        start = marks.find(_LONG, end)
        if start < 0:
            break
        end = marks.find(b" ", start)
        if end < 0:
            end = len(marks)
        spans.append((start, end))
    return spans


def read_table() -> list[Row]:
    """The rows of secrets.json, in its order."""
    with open(os.path.join(os.path.dirname(__file__), "secrets.json"), "rb") as file:
        table: list[Row] = json.loads(file.read())["rules"]
    return table


class Rule:
    """One form of secrets.  mark: the first of _MARKS that all keywords have."""

    __slots__ = ("_pattern", "keywords", "mark", "name", "source", "where")

    def __init__(
        self, name: str, source: bytes, keywords: tuple[bytes, ...], where: str, mark: bytes
    ) -> None:
        self.name = name
        self.source = source
        self.keywords = keywords
        self.where = where
        self.mark = mark
        self._pattern: re.Pattern[bytes] | None = None

    def is_hinted(self, text: bytes) -> bool:
        """Whether a keyword of the rule is in a text."""
        return any(map(text.__contains__, self.keywords))

    def get_pattern(self) -> re.Pattern[bytes]:
        """The pattern, compiled when it is first needed."""
        if self._pattern is None:
            self._pattern = load_pattern(self.source)
        return self._pattern

    def find(self, text: bytes) -> Iterator[Secret]:
        """Yield (rule, start, end) of the secrets in a text."""
        pattern = self.get_pattern()
        first = min(1, pattern.groups)
        last = pattern.groups
        for match in pattern.finditer(text):
            if len(match[0]) > _MOST_FILLED or not _FILLER.search(match[0]):
                yield self.name, match.start(first), match.end(last)


def prepare_rules() -> None:
    """Fill FORMATS, which is stored, with what Rule() takes of each rule."""
    if patterns.FORMATS:
        return
    rules = []
    for row in read_table():
        keywords = tuple(keyword.encode() for keyword in row["keywords"])
        source = row["pattern"].encode()
        rules.append((row["name"], source, keywords, row["in"], _choose_mark(keywords)))
    patterns.FORMATS["rules"] = rules


def _choose_mark(keywords: tuple[bytes, ...]) -> bytes:
    for mark in _MARKS:
        if all(mark in keyword for keyword in keywords):
            return mark
    return b""


class Rules:
    """All rules."""

    def __init__(self) -> None:
        prepare_rules()
        self._of_words: list[Rule] = []
        self._of_text: list[Rule] = []
        for parts in patterns.FORMATS["rules"]:
            rule = Rule(*parts)
            if rule.where == "run":
                self._of_words.append(rule)
            else:
                self._of_text.append(rule)

    def find_in_words(self, words: Collection[bytes]) -> Iterator[tuple[bytes, Secret]]:
        """Yield (word, (rule, start, end)) of the matches of the rules for runs."""
        if not words:
            return
        marked: dict[bytes, list[bytes]] = {}
        blobs: dict[bytes, bytes] = {}
        for mark in _MARKS:
            marked[mark] = [word for word in words if mark in word]
            blobs[mark] = b"\n".join(marked[mark])
        for rule in self._of_words:
            blob = blobs[rule.mark]
            if not rule.is_hinted(blob) or not rule.get_pattern().search(blob):
                continue
            for word in marked[rule.mark]:
                for secret in rule.find(word):
                    yield word, secret

    def find_in_text(self, flat: bytes, spans: Iterable[Span]) -> Iterator[Secret]:
        """Yield (rule, start, end) of the matches of the other rules; spans: the runs of flat."""
        runs = set[bytes]()
        for start, end in spans:
            runs.add(flat[start:end])
            if start and flat[start - 1] in b".:":
                runs.add(flat[max(0, start - _NEAR) : end])
        blob = b"\n".join(runs)
        for rule in self._of_text:
            if rule.where == "text" or rule.is_hinted(blob):
                yield from rule.find(flat)
