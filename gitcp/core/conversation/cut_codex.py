"""A rollout of Codex up to a moment, under a new id: its lines are in order, none is abandoned."""

from __future__ import annotations

from gitcp.core.transcript import transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def last(data: bytes) -> str:
    """The number of the line at which a rollout ends, as a text; '' for an empty one."""
    count = sum(1 for line in data.split(b"\n") if line.strip())
    return str(count) if count else ""


def cut(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool
) -> tuple[bytes, list[str]]:
    """(the rollout up to line leaf and to the end of its turn, what was left out).

    redacted: the bytes were redacted: reasoning whose encrypted content that broke is left
    out, which the service would refuse for good.  Returns b'' when there is no such line.
    """
    lines = [line for line in data.split(b"\n") if line.strip()]
    end = int(leaf or 0)
    if not 0 < end <= len(lines):
        return b"", []
    while end < len(lines) and not _ends(lines[end - 1]) and not _begins(lines[end]):
        end += 1
    kept = [line for line in lines[:end] if not (redacted and _is_reasoning(line))]
    dropped = end - len(kept)
    notes = [f"{dropped} items of reasoning are left out: redaction broke their encryption"]
    text = b"".join(line + b"\n" for line in kept)
    return text.replace(old_id.encode(), new_id.encode()), notes if dropped else []


def _payload(line: bytes) -> dict[str, Any]:
    entry = transcript_scan.load(line) or {}
    payload = entry.get("payload")
    return payload if isinstance(payload, dict) else {}


def _ends(line: bytes) -> bool:
    marks = (b'"task_complete"', b'"turn_aborted"')
    return any(m in line for m in marks) and _payload(line).get("type") in (
        "task_complete",
        "turn_aborted",
    )


def _begins(line: bytes) -> bool:
    return b'"task_started"' in line and _payload(line).get("type") == "task_started"


def _is_reasoning(line: bytes) -> bool:
    return b'"encrypted_content"' in line and _payload(line).get("type") == "reasoning"
