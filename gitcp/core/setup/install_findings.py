"""What is wrong with an installation, as records."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Finding


def finding(kind: str, subject: str, reason: str, remedy: str) -> Finding:
    """A record of type finding about the installation; remedy: what the person can do."""
    head = {"type": "finding", "kind": kind, "severity": "warning", "subject": subject}
    return {**head, "reason": reason, "remedy": remedy}
