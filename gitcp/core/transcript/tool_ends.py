"""Find in a transcript when a tool call ended, for a call without an end event."""

from __future__ import annotations

from gitcp.core.transcript.transcript_scan import ensure_object, list_blocks, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INTERRUPTED = "[Request interrupted by user"
_SIGNS = (_INTERRUPTED.encode(), b'"turn_aborted"')
_RUNS_ON = "Process running with session ID"  # what Codex answers before a command has ended
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def find_end(tail: bytes, tool_id: str, since: int, runs_on: bool = False) -> int | None:
    """The time in ns of a call's result, or of an interruption after `since`; None without either.

    tail: the last lines of a transcript of Claude Code or Codex.  runs_on: the call has returned
    and its command runs in the background; interruptions do not end it.
    """
    mark = tool_id.encode()
    for raw in tail.split(b"\n"):
        may_interrupt = not runs_on and any(sign in raw for sign in _SIGNS)
        if not may_interrupt and not (mark and mark in raw):
            continue
        line = load(raw) or {}
        if (mark and _is_end(line, tool_id, runs_on)) or (may_interrupt and _is_interruption(line)):
            time = parse_time(str(line.get("timestamp") or ""))
            if time is not None and time >= since // 1_000_000 * 1_000_000:
                return time
    return None


def find_last_time(tail: bytes) -> int | None:
    """The newest time in the last lines of a transcript, in ns."""
    for line in reversed(tail.split(b"\n")):
        if b'"timestamp"' in line:
            time = parse_time(str((load(line) or {}).get("timestamp") or ""))
            if time is not None:
                return time
    return None


def _is_end(line: dict[str, Any], tool_id: str, runs_on: bool) -> bool:
    """Whether a line is the end of a command, or, unless it runs_on, the result of its call."""
    if payload := ensure_object(line.get("payload")):
        item = ensure_object(payload.get("item"))
        if item.get("type") == "CommandExecution":
            return item.get("id") == tool_id and payload.get("type") == "item_completed"
        output = str(payload.get("type", "")).endswith("_output")
        if output and payload.get("call_id") == tool_id:
            return not runs_on and _RUNS_ON not in str(payload.get("output"))
    results = (part for part in list_blocks(line) if part.get("type") == "tool_result")
    return not runs_on and any(part.get("tool_use_id") == tool_id for part in results)


def _is_interruption(line: dict[str, Any]) -> bool:
    if payload := ensure_object(line.get("payload")):
        return payload.get("type") == "turn_aborted"
    texts = [str(part.get("text")) for part in list_blocks(line) if part.get("type") == "text"]
    return line.get("type") == "user" and any(text.startswith(_INTERRUPTED) for text in texts)


def parse_time(text: str) -> int | None:
    """The time of `2026-11-21T14:02:03.456Z`, or of ms since 1970, in ns since then; None for
    another form."""
    day, _, clock = text.partition("T")
    try:
        if text.isdecimal() and text.isascii():
            return int(text) * 1_000_000
        year, month, date = map(int, day.split("-"))
        hour, minute, second = clock.removesuffix("Z").split(":")
        whole, _, fraction = second.partition(".")
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        days = (year - 1970) * 365 + (year - 1969) // 4 - (year - 1901) // 100
        days += (year - 1601) // 400 + _DAYS[month - 1] + (leap and month > 2) + date - 1
        seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(whole)
        return seconds * 1_000_000_000 + int((fraction + "0" * 9)[:9])
    except (ValueError, IndexError):
        return None
