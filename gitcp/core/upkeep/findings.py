"""Make, format and count findings, the records of what is wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.record_types import Finding


# error: a promise is broken.  warning: something is left over, or blocks work.  note: a variation
# of old data that every reader accepts, not a failure.
ERROR, WARNING, NOTE = "error", "warning", "note"


def make_finding(code: str, subject: str, reason: str, old: bool = False, **facts: Any) -> Finding:
    """A record of type finding; the table of findings sets its severity.  old: the data is older
    than the promise, so it is a note."""
    head = {"type": "finding", "kind": code, "severity": NOTE if old else ""}
    return {**head, "subject": subject, "reason": reason, **facts}


def format_line(item: Finding) -> str:
    """`<code> <severity> <subject>: <reason>`, and the repair in parentheses."""
    words = f"{item['kind']} {item['severity']} {item['subject']}: {item['reason']}"
    return f"{words} ({item['repaired']})" if item.get("repaired") else words


def count_failures(findings: Iterable[Finding]) -> int:
    """The number of failures: findings that are neither notes nor repaired."""
    return sum(
        1 for finding in findings if finding["severity"] != NOTE and not finding.get("repaired")
    )
