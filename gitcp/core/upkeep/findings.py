"""Findings: records of what is wrong, and how one is shown on a line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.record_types import Finding


# error: a promise is broken.  warning: something is left over, or in the way.  note: a
# variation of old data that every reader takes; it is told, and is no failure.
ERROR, WARNING, NOTE = "error", "warning", "note"


def make_finding(code: str, subject: str, reason: str, old: bool = False, **facts: Any) -> Finding:
    """A record of type finding; the table of findings has its severity.  old: it concerns data from
    before the promise was kept, and is a note."""
    head = {"type": "finding", "kind": code, "severity": NOTE if old else ""}
    return {**head, "subject": subject, "reason": reason, **facts}


def format_line(item: Finding) -> str:
    """`<code> <severity> <subject>: <reason>`, and what a repair did."""
    words = f"{item['kind']} {item['severity']} {item['subject']}: {item['reason']}"
    return f"{words} ({item['repaired']})" if item.get("repaired") else words


def count_failures(findings: Iterable[Finding]) -> int:
    """How many are failures: neither notes nor repaired."""
    return sum(1 for one in findings if one["severity"] != NOTE and not one.get("repaired"))
