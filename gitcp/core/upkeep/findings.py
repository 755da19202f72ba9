"""Findings: what each code means, how grave it is, and how one is shown on a line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.record_types import Finding


# error: a promise is broken.  warning: something is left over, or in the way.  note: a
# variation of old data that every reader takes; it is told, and is no failure.
ERROR, WARNING, NOTE = "error", "warning", "note"

# code -> (severity, whether --repair mends it, what it means)
CODES = {
    "bad-summary": (ERROR, False, "the metadata.json of a checkpoint does not say what it must"),
    "bad-metadata": (ERROR, False, "the metadata.json of a session does not say what it must"),
    "bad-path": (ERROR, False, "the sessions a checkpoint lists are not those it has"),
    "bad-number": (ERROR, False, "the directories of its sessions are not numbered 0, 1, 2"),
    "bad-chunk": (ERROR, False, "a piece of a transcript is missing, or does not sort as one"),
    "bad-hash": (ERROR, False, "the hash of a transcript is another, or is missing"),
    "stray": (NOTE, False, "something on the branch is part of no checkpoint"),
    "secret": (ERROR, False, "stored data holds what looks like a secret"),
    "dangling-trailer": (WARNING, True, "a commit names a checkpoint that is not stored"),
    "left-out": (WARNING, True, "a checkpoint lacks the part of a session in its commit"),
    "dangling-note": (WARNING, False, "a note names a checkpoint that is not stored"),
    "empty-link": (NOTE, False, "a commit has nothing of a checkpoint that it is linked to"),
    "wrong-note": (WARNING, True, "a note links a commit to a checkpoint of another commit"),
    "no-store": (WARNING, False, "commits name checkpoints, and none is stored here"),
    "bad-state": (ERROR, True, "the state of a session cannot be read, or is not one"),
    "lost-state": (ERROR, True, "a session has a marker, and no state"),
    "old-state": (ERROR, True, "the copy of a state on its stream is newer than the state"),
    "lost-stream": (ERROR, False, "a state names a stream that no ref has"),
    "no-marker": (ERROR, True, "a state has something unsettled, and no marker tells commits"),
    "bad-marker": (WARNING, True, "a marker tells something else than its state"),
    "orphan-stream": (WARNING, False, "no state names a stream that commits have not settled"),
    "broken-stream": (ERROR, True, "a stream lacks objects"),
    "broken-edits": (ERROR, True, "the edits of a session lack objects"),
    "broken-store": (ERROR, True, "the permanent branch lacks objects"),
    "not-a-stream": (WARNING, False, "a branch has a name of ours, and no checkpoints"),
    "bad-ref": (ERROR, True, "a ref of ours has no commit"),
    "missing-object": (ERROR, False, "an object that a ref of ours needs is missing"),
    "lock": (WARNING, True, "the lock of a ref was left behind"),
    "leftover": (WARNING, True, "a scratch file was left behind"),
    "no-hook": (WARNING, False, "a file that enable wrote is gone, or none was written"),
    "changed-hook": (WARNING, False, "a file that enable wrote was changed since"),
}


def finding(code: str, subject: str, reason: str, old: bool = False, **facts: Any) -> Finding:
    """A record of type finding; old: of data from before the promise was kept, so a note."""
    severity = NOTE if old else CODES[code][0]
    head = {"type": "finding", "kind": code, "severity": severity}
    return {**head, "subject": subject, "reason": reason, **facts}


def line(one: Finding) -> str:
    """`<code> <severity> <subject>: <reason>`, and what a repair did."""
    words = f"{one['kind']} {one['severity']} {one['subject']}: {one['reason']}"
    return f"{words} ({one['repaired']})" if one.get("repaired") else words


def counts(findings: Iterable[Finding]) -> int:
    """How many are failures: neither notes nor repaired."""
    return sum(1 for one in findings if one["severity"] != NOTE and not one.get("repaired"))
