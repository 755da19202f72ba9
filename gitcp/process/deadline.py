"""How long this process may still take: set by a hook, asked wherever it waits.

A command that a person started has no limit: the person is there to end it.
"""

from __future__ import annotations

import time

from gitcp import memory

EACH, TOTAL = 60, 120  # seconds: one call of git, a whole hook (gitcp-config(5))
_limits: dict[str, float] = memory.get_table("limits")


def begin(total: float = TOTAL, each: float = EACH) -> None:
    """From now on this process has total seconds, and a single call of git each at most."""
    now = time.monotonic()
    _limits.setdefault("begun", now)
    _limits.update(end=now + total, each=each)


def set_bound(most: float | None) -> None:
    """Who started this process waits for so many seconds since the first begin(), which no begin
    and no extend goes past; None: as long as it takes."""
    _limits["bound"] = float("inf") if most is None else _limits["begun"] + most


def extend(seconds: float) -> None:
    """Give so much more, to all and to a single call, up to the bound: there is much to read."""
    for name in _limits.keys() & {"end", "each"}:
        _limits[name] += seconds


def count_seconds_left() -> float | None:
    """Seconds for the next call; 0 when the time is over, None without a limit."""
    if not _limits:
        return None
    return max(0.0, min(_compute_end() - time.monotonic(), _limits["each"]))


def describe_overrun(limit: float | None = None) -> str:
    """Which time is over, where git was waited for: the hook's, or that of a call, which may
    have had a limit of its own (seconds)."""
    if _limits and time.monotonic() > _compute_end() - 0.01:
        return "before the time of the whole hook was over"
    return f"in {limit or _limits.get('each', EACH):.3g} seconds"


def _compute_end() -> float:
    return min(_limits["end"], _limits.get("bound", float("inf")))
