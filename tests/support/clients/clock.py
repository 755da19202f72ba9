"""The times that a recorded transcript tells, as those at which it is written again."""

from __future__ import annotations

import re
import time
from datetime import datetime

TIMES = re.compile(r'"20\d\d-\d\d-\d\dT[\d:.]+Z"|(?<=[:\s"])1[78]\d{11}(?!\w)')


class Clock:
    """Each time of a recording becomes that at which the event before it was played again or, where
    the recording does not tell when it began, that of the last event before it was on disk: what a
    fork has copied is so as old as what it was copied from."""

    def __init__(self, began: float = 0.0) -> None:
        """began: when the recording did, in s since 1970, 0 for unknown."""
        self._began, self._known = began, dict[str, str]()
        self._played = [(0.0, time.time())]

    def note_event(self, second: float) -> None:
        """Note that what was recorded at a second was played now."""
        self._played.append((self._began + second, time.time()))

    def without_memory(self) -> Clock:
        """A clock that has seen the same events, and told no time yet."""
        clock = Clock(self._began)
        clock._played = self._played
        return clock

    def now(self, text: str) -> str:
        """text with our times in place of the recorded ones, of the same length."""
        return TIMES.sub(lambda found: self._known.setdefault(found[0], self._like(found[0])), text)

    def _like(self, recorded: str) -> str:
        last = parse(recorded) if self._began else float("inf")
        at = [played for when, played in self._played if when <= last][-1]
        if recorded.isdecimal():
            return str(int(at * 1000))
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
        return f'"{seconds}.{int(at % 1 * 1000):03d}Z"'


def find_last(text: str) -> float:
    """The last time that a text tells, in s since 1970; 0 for none."""
    return max(map(parse, TIMES.findall(text)), default=0.0)


def parse(recorded: str) -> float:
    """A time as TIMES finds it, in s since 1970."""
    if recorded.isdecimal():
        return int(recorded) / 1000
    return datetime.fromisoformat(recorded.strip('"')).timestamp()
