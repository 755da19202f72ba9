"""Make, format and count findings, the records of what is wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.record_types import Finding


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
