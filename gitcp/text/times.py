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


def format_day(seconds: float) -> str:
    """The local day of a time in seconds since 1970: '2026-11-22'."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def spell_day(day: str, year: int) -> str:
    """A day of format_day() for people, `15 Mar`; with its year if that is another, `15 Mar 25`."""
    of_year, month, of_month = day.split("-")
    words = f"{int(of_month)} {_MONTHS[int(month) - 1]}"
    if int(of_year) == year:
        return words
    return f"{words} {of_year[-2:]}"


def format_utc(seconds: int) -> str:
    """A time in seconds since 1970 as RFC 3339, in UTC: '1970-01-01T00:00:00Z'."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
