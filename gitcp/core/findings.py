"""Make, format and count findings, the records of what is wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    from gitcp.core.record_types import Finding

    class Item(TypedDict):
        """An object or file.  time: of its creation, seconds since 1970; 0 if not known."""

        kind: str
        session_id: str
        time: float
        bytes: int

    Sum = tuple[str, int, int]  # name, bytes, how many

# error: a promise is broken.  warning: something is left over, or blocks work.  note: a variation
# of old data that every reader accepts, not a failure.
_FEW = 3  # findings alike that are shown one by one
ERROR, WARNING, NOTE = "error", "warning", "note"


def make_finding(code: str, subject: str, reason: str, old: bool = False, **facts: Any) -> Finding:
    """A record of type finding; the table of findings sets its severity.  old: the data is older
    than the promise, so it is a note."""
    head = {"type": "finding", "kind": code, "severity": NOTE if old else ""}
    return {**head, "subject": subject, "reason": reason, **facts}


def build_row(item: Finding) -> tuple[str, str, str]:
    """A row of fold_lines(): `<code> <severity>`, `<code> <severity> <subject>: <reason>`, and the
    repair in parentheses."""
    kind = f"{item['kind']} {item['severity']}"
    repair = f" ({item['repaired']})" if item.get("repaired") else ""
    return kind + repair, f"{kind} {item['subject']}: {item['reason']}", repair


def fold_lines(rows: Iterable[tuple[str, str, str]], everything: bool) -> list[str]:
    """The lines of findings, each (what findings alike have in common, what is wrong, what is done
    about it), in their order.  Of more than a few alike only the first is left, with the number of
    the others; everything: all are left."""
    alike: dict[object, list[tuple[str, str]]] = {}
    for number, (common, wrong, remedy) in enumerate(rows):
        alike.setdefault(number if everything else common, []).append((wrong, remedy))
    lines: list[str] = []
    for same in alike.values():
        visible = same if len(same) <= _FEW else same[:1]
        count = "" if visible is same else f", and {len(same) - 1} like it"
        lines += [f"{wrong}{count}{remedy}".replace("\n", " ") for wrong, remedy in visible]
    return lines


def count_failures(findings: Iterable[Finding]) -> int:
    """The number of failures: findings that are neither notes nor repaired."""
    return sum(
        1 for finding in findings if finding["severity"] != NOTE and not finding.get("repaired")
    )


# Sum the space of stored data by kind, session and age, and format sizes.
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
