"""Which of all combinations a test tries."""

from __future__ import annotations

import os
from itertools import product

Three = tuple[str, str, str]


def choose_pairs(first: list[str], second: list[str], third: list[str]) -> list[Three]:
    """Combinations in which each two values of different lists meet; with LONG=1 all.  The third
    list is the shortest."""
    assert len(third) <= min(len(first), len(second))
    every: list[Three] = list(product(first, second, third))
    if os.environ.get("LONG"):
        return every
    chosen: list[Three] = []
    for one, two, three in every:
        turn = first.index(one) + second.index(two)
        if third.index(three) == turn % len(third):
            chosen.append((one, two, three))
    return chosen
