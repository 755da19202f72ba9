"""Which sessions' edits go where more of them are kept than there may be."""

from __future__ import annotations

import pytest

from gitcp.core.decide.orphan_rules import choose_surplus

SIZES = {"old": 10, "middle": 20, "new": 30, "at work": 40}
SETTLED = ["old", "middle", "new"]


@pytest.mark.parametrize(
    ("ceiling", "going"),
    [
        (100, []),
        (99, ["old"]),
        (90, ["old"]),
        (89, ["old", "middle"]),
        (40, ["old", "middle", "new"]),
        (0, ["old", "middle", "new"]),
    ],
)
def test_the_oldest_settled_sessions_give_way_until_the_rest_fits(
    ceiling: int, going: list[str]
) -> None:
    assert choose_surplus(SIZES, SETTLED, ceiling) == going


def test_a_session_without_edits_gives_nothing() -> None:
    assert choose_surplus({"a": 5, "b": 0}, ["b", "a"], 1) == ["a"]
