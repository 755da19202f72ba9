"""Sums of the space of stored data by kind, session and age, and sizes for people."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# kind -> meaning, in the order of output
KINDS = {
    "transcripts": "transcripts of committed checkpoints",
    "checkpoints": "all else of committed checkpoints",
    "notes": "links in notes, and summaries that clones share",
    "streams": "streams of temporary checkpoints",
    "archives": "archived streams",
    "edits": "edits of sessions",
    "packs": "other objects in packs of gitcp's",
    "states": "states of sessions",
    "caches": "caches and scratch files",
}
_DAY = 86400
_AGES = (("today", _DAY), ("week", 7 * _DAY), ("month", 30 * _DAY), ("year", 365 * _DAY))
AGES = (*(name for name, _ in _AGES), "older")
_UNITS = ("KiB", "MiB", "GiB", "TiB")


class Item(NamedTuple):
    """An object or file."""

    kind: str
    session_id: str
    time: float  # of its creation, seconds since 1970; 0 if not known
    size: int  # bytes


class Sum(NamedTuple):
    """What the items of one kind, session or age take."""

    name: str  # '' of items without a session, or without a known time
    size: int  # bytes
    number: int  # of them


def sum_items(items: Iterable[Item], by: str, now: float) -> list[Sum]:
    """Sums by 'kind' or 'age' in their order, or by 'session' with the largest first.

    Empty sums are left out.
    """
    sums: dict[str, Sum] = {}
    for item in items:
        name = _name_group(item, by, now)
        before = sums.get(name, Sum(name, 0, 0))
        sums[name] = Sum(name, before.size + item.size, before.number + 1)
    if by == "session":
        return sorted(sums.values(), key=lambda row: (row.name == "", -row.size, row.name))
    order = [*KINDS, *AGES, ""]
    return sorted(sums.values(), key=lambda row: order.index(row.name))


def _name_group(item: Item, by: str, now: float) -> str:
    if by == "kind":
        return item.kind
    if by == "session":
        return item.session_id
    if item.time:
        return classify_age(now - item.time)
    return ""


def classify_age(seconds: float) -> str:
    """The class of an age: within a day, a week, a month or a year, or older."""
    return next((name for name, limit in _AGES if seconds < limit), "older")


def format_size(count: int) -> str:
    """A number of bytes in its largest unit: `512 B`, `1.4 MiB`."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    unit = ""
    for larger in _UNITS:
        if unit and value < 1024:
            break
        value /= 1024
        unit = larger
    return f"{value:.1f} {unit}"
