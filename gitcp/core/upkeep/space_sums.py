"""Sum the space of stored data by kind, session and age, and format sizes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    class Item(TypedDict):
        """An object or file.  time: of its creation, seconds since 1970; 0 if not known."""

        kind: str
        session_id: str
        time: float
        bytes: int

    Sum = tuple[str, int, int]  # name, bytes, how many


# kind -> meaning, in the order of output
KINDS = {
    "transcripts": "transcripts of committed checkpoints",
    "checkpoints": "all else of committed checkpoints",
    "notes": "links in notes",
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


def sum_items(items: Iterable[Item], by: str, now: float) -> list[Sum]:
    """Sums by 'kind' or 'age' in their order, or by 'session' with the largest first.

    The name of items without a session, or a known time, is ''.  Empty sums are left out.
    """
    sum_of: dict[str, tuple[int, int]] = {}
    for item in items:
        name = item["kind"] if by == "kind" else item["session_id"]
        if by == "age":
            name = classify_age(now - item["time"]) if item["time"] else ""
        size, count = sum_of.get(name, (0, 0))
        sum_of[name] = (size + item["bytes"], count + 1)
    rows = [(name, *sums) for name, sums in sum_of.items()]
    if by == "session":
        return sorted(rows, key=lambda row: (row[0] == "", -row[1], row[0]))
    order = [*KINDS, *AGES, ""]
    return sorted(rows, key=lambda row: order.index(row[0]))


def classify_age(seconds: float) -> str:
    """The class of an age: within a day, a week, a month or a year, or older."""
    return next((name for name, limit in _AGES if seconds < limit), "older")


def format_size(count: int) -> str:
    """A number of bytes in its largest unit: `512 B`, `1.4 MiB`."""
    value, unit = float(count), "B"
    for larger in _UNITS:
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
