"""The deadline of this process, which a hook sets and every wait obeys.

A command that a person starts has none.
"""

from __future__ import annotations

import time

from gitcp import memory

EACH, TOTAL = 60, 120  # seconds: one call of git, a whole hook (gitcp-config(5))
_limits: dict[str, float] = memory.get_table("limits")


def begin(total: float = TOTAL, each: float = EACH) -> None:
    """Give this process total seconds from now, and each call of git at most `each` seconds."""
    now = time.monotonic()
    _limits.setdefault("begun", now)
    _limits.update(end=now + total, each=each)


def set_bound(most: float | None) -> None:
    """Limit the deadline to `most` seconds after the first begin(), when the caller of the hook
    stops waiting; None: no limit."""
    _limits["bound"] = float("inf") if most is None else _limits["begun"] + most


def extend(seconds: float) -> None:
    """Give the process and each call of git so many seconds more, because there is much to read."""
    for name in _limits.keys() & {"end", "each"}:
        _limits[name] += seconds


def count_seconds_left() -> float | None:
    """The seconds for the next call; 0 after the deadline, None without one."""
    if not _limits:
        return None
    return max(0.0, min(_compute_end() - time.monotonic(), _limits["each"]))


def describe_overrun(limit: float | None = None) -> str:
    """The end of a message that git did not answer: within the hook's time, or that of a call, by
    default without a limit of its own (seconds)."""
    if _limits and time.monotonic() > _compute_end() - 0.01:
        return "before the time of the whole hook was over"
    return f"in {limit or _limits.get('each', EACH):.3g} seconds"


def _compute_end() -> float:
    return min(_limits["end"], _limits.get("bound", float("inf")))
