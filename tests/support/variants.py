"""How many cases of a rule a run tries: all of them in CI and with LONG=1, a third otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
ALL = bool(os.environ.get("CI") or os.environ.get("LONG"))


def some(cases: Iterable[Case], first: int = 0) -> list[Case]:
    """Every third case, from that number on, where not all are asked for: for tests that run many
    hooks or clients a case and differ in what one rule is given."""
    return [*cases] if ALL else [*cases][first::3]
