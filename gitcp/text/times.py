"""Times as texts, for people and in records."""

from __future__ import annotations

import time
from datetime import datetime


def parse_time(text: object) -> float:
    """An RFC 3339 time in seconds since 1970; 0 for anything else."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def format_utc(seconds: int) -> str:
    """A time in seconds since 1970 as RFC 3339, in UTC: '1970-01-01T00:00:00Z'."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
