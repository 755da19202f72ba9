"""Where the words of a text stood before a formatter: a judge that does not ask gitcp.

Whole files are compared word by word.  Where both have the same words, or the same bytes of words,
this is exact; elsewhere difflib aligns them, and a line with a word without a place is not judged.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
_OLD_PREFIX = re.compile(rb"\b[uU](?=['\"])")


@dataclass(slots=True, frozen=True)
class Word:
    """A word in small letters, and the index of its line."""

    text: bytes
    line: int


def list_words(lines: Sequence[bytes]) -> list[Word]:
    """The words of a text; the u of u'' is none."""
    words = []
    for number, line in enumerate(lines):
        for text in _WORD.findall(_OLD_PREFIX.sub(b"", line).lower()):
            words.append(Word(text, number))
    return words


def find_origins(old: Sequence[bytes], new: Sequence[bytes]) -> list[set[int] | None]:
    """By new line, the old lines that most of its bytes of words come from: several if they have
    the same part, none for a line without words, None if it cannot be told."""
    old_words, new_words = list_words(old), list_words(new)
    if b"".join(w.text for w in old_words) == b"".join(w.text for w in new_words):
        places = _align_bytes(old_words, new_words)
    else:
        places = _align_words(old_words, new_words)
    shares: list[Counter[int]] = [Counter() for _ in new]
    unknown = set()
    for word, place in zip(new_words, places, strict=True):
        if place is None:
            unknown.add(word.line)
        else:
            shares[word.line][old_words[place].line] += len(word.text)
    origins: list[set[int] | None] = []
    for number, share in enumerate(shares):
        if number in unknown:
            origins.append(None)
        else:
            most = max(share.values(), default=0)
            origins.append({line for line, size in share.items() if size == most})
    return origins


def _align_bytes(old: Sequence[Word], new: Sequence[Word]) -> list[int | None]:
    places: list[int | None] = []
    end = 0  # of the old word at `number`
    position = 0
    number = -1
    for word in new:
        while end <= position:
            number += 1
            end += len(old[number].text)
        places.append(number)
        position += len(word.text)
    return places


def _align_words(old: Sequence[Word], new: Sequence[Word]) -> list[int | None]:
    """By new word, the index of its old word; one that is left over on each side once is the
    same, wherever it stands."""
    a = [word.text for word in old]
    b = [word.text for word in new]
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    places: list[int | None] = [None] * len(b)
    places[:start] = range(start)
    places[len(b) - end :] = range(len(a) - end, len(a))
    middle = difflib.SequenceMatcher(None, a[start : len(a) - end], b[start : len(b) - end], False)
    for block in middle.get_matching_blocks():
        for n in range(block.size):
            places[start + block.b + n] = start + block.a + n
    _align_left(a, b, places)
    return places


def _align_left(a: Sequence[bytes], b: Sequence[bytes], places: list[int | None]) -> None:
    left = set(range(len(a))).difference(place for place in places if place is not None)
    counts = Counter(a[number] for number in left)
    once = {a[number]: number for number in left if counts[a[number]] == 1}
    for number, place in enumerate(places):
        if place is None:
            places[number] = once.get(b[number])
