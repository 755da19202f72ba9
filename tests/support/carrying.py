"""What carry() says of texts, told by authors: one letter a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitcp.text.carry.moves import Source
from gitcp.text.carry.origins import Carried, carry
from gitcp.text.carry.text import Text


def split(text: str) -> list[bytes]:
    """The lines of a text; '' has none."""
    return text.encode().split(b"\n") if text else []


@dataclass(slots=True)
class Written:
    """A source whose lines have authors.  gone: the indices of lines that it lost."""

    text: str
    authors: str
    gone: Sequence[int] = ()


def pair(before: str, after: str, *sources: Written) -> Carried:
    found = [Source(Text(split(source.text)), set(source.gone)) for source in sources]
    return carry(Text(split(before)), Text(split(after)), found)


def tell_authors(before: str, authors: str, after: str, writer: str, *sources: Written) -> str:
    """The author of each line of after; writer: of a new line."""
    carried = pair(before, after, *sources)
    told = ""
    for line, origin in enumerate(carried.origins):
        place = carried.places.get(line)
        if place is not None:
            told += sources[place.source].authors[place.line]
        elif origin >= 0:
            told += authors[origin]
        else:
            told += writer
    return told


def tell_hows(before: str, after: str, *sources: Written) -> list[str]:
    """How each line of after came."""
    carried = pair(before, after, *sources)
    return [carried.get_how(line) for line in range(len(carried.origins))]
