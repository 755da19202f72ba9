"""Make, format and count findings, the records of what is wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypedDict

    from gitcp.text.record_types import Finding, Record

    class Item(TypedDict):
        """An object or file.  time: of its creation, seconds since 1970; 0 if not known."""

        kind: str
        session_id: str
        time: float
        bytes: int

    Sum = tuple[str, int, int]  # name, bytes, how many

# error: a promise is broken.  warning: something is left over, or blocks work.  note: a variation
# of old data that every reader accepts, not a failure.
_FEW = 3  # findings of one cause that are shown one by one
ERROR = "error"
WARNING = "warning"
NOTE = "note"


def make_finding(
    code: str, subject: str, reason: str, is_note: bool = False, **facts: Any
) -> Finding:
    """A record of type finding; the table of findings sets its severity.  is_note: only a
    note, as of data that is older than the promise."""
    head = {"type": "finding", "kind": code, "severity": NOTE if is_note else ""}
    return {**head, "subject": subject, "reason": reason, **facts}


def format_remedy(
    finding: Finding | Record, command: str = "gitcp doctor --fix", *, tried: bool = False
) -> str:
    """What helps against a finding: a quoted command, or a sentence; '' if nothing is left to try.

    command: what mends a finding that has a fix; tried: it has been run.
    """
    remedy = str(finding["remedy"])
    if remedy.startswith("gitcp "):
        if tried and remedy == command:
            return ""
        return f"'{remedy}'"
    if not finding.get("fix") or remedy.startswith("'"):
        return remedy
    if tried:
        return ""
    verb, _, rest = remedy.partition(" ")
    ending = "es" if verb.endswith(("h", "s")) else "s"
    return f"'{command}' {verb}{ending} {rest}".rstrip()


def list_reasons(
    items: Iterable[Finding], explain: Callable[[str], str], *, tried: bool = False
) -> list[str]:
    """The reason of each finding and what helps.  explain: the meaning of a code; tried: as for
    format_remedy()."""
    rows = []
    for item in items:
        remedy = item.get("fixed") or format_remedy(item, tried=tried)
        reason = str(item["reason"])
        if reason.startswith(f"{item['subject']}: "):
            rows.append((explain(item["kind"]), reason, remedy))
        else:
            rows.append((reason, "", remedy))
    return group_lines(rows, True) or ["nothing is wrong here"]


def group_lines(rows: Iterable[tuple[str, str, str]], everything: bool) -> list[str]:
    """The lines of findings, those of one cause together, in the order of the first of each.

    rows: (cause, where it is found, what helps); '' for what the cause says already, and where
    nothing helps.  The places and the help stand indented below their cause; a cause without a
    place is one line.  Of more than a few places only the first is left, with the number of the
    others; everything: all are left.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for cause, place, remedy in rows:
        groups.setdefault((cause, remedy), []).append(place)
    lines: list[str] = []
    for (cause, remedy), listed in groups.items():
        places = [place for place in listed if place]
        if not places:
            lines.append(f"{cause}: {remedy}" if remedy else cause)
            continue
        if everything or len(places) <= _FEW:
            visible = places
        else:
            visible = places[:1]
        lines += [cause, *(f"  {place}" for place in visible)]
        left = len(places) - len(visible)
        if left:
            lines.append(f"  and {left} more")
        if remedy:
            lines += [f"  {remedy}"]
    return [line.replace("\n", " ") for line in lines]


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


def sum_items(items: Iterable[Item], by: str, now: float) -> list[Sum]:
    """Sums by 'kind' or 'age' in their order, or by 'session' with the largest first.

    The name of items without a session, or a known time, is ''.  Empty sums are left out.
    """
    sum_of: dict[str, tuple[int, int]] = {}
    for item in items:
        if by == "kind":
            name = item["kind"]
        else:
            name = item["session_id"]
        if by == "age":
            name = ""
            if item["time"]:
                name = classify_age(now - item["time"])
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
    value = float(count)
    unit = "B"
    for larger in _UNITS:
        if value < 1024:
            break
        value = value / 1024
        unit = larger
    if unit == "B":
        return f"{count} B"
    return f"{value:.1f} {unit}"
