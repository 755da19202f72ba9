"""The times that a recorded transcript tells, as those at which it is written again."""

from __future__ import annotations

import re
import time

TIMES = re.compile(r'"20\d\d-\d\d-\d\dT[\d:.]+Z"|(?<=[:\s"])1[78]\d{11}(?!\d)')


class Clock:
    """Each time of a recording becomes that at which it was first on disk: what a fork has
    copied is so as old as what it was copied from."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def now(self, text: str) -> str:
        """text with our times in place of the recorded ones, of the same length."""
        return TIMES.sub(lambda found: self._known.setdefault(found[0], _like(found[0])), text)


def _like(recorded: str) -> str:
    now = time.time()
    if recorded.isdecimal():
        return str(int(now * 1000))
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    return f'"{seconds}.{int(now % 1 * 1000):03d}Z"'
