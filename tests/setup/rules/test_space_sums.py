"""Sums of space by kind, session and age."""

from __future__ import annotations

import pytest

from gitcp.setup.care import space_sums
from gitcp.setup.care.space_sums import Item

NOW = 1_000_000_000.0
DAY = 86400


def item(kind: str, session_id: str, days: float | None, size: int) -> Item:
    time = 0.0 if days is None else NOW - days * DAY
    return Item(kind, session_id, time, size)


ITEMS = [
    item("states", "b", 0.5, 1),
    item("transcripts", "a", 8, 20),
    item("transcripts", "", 400, 300),
    item("caches", "b", None, 4000),
]


@pytest.mark.parametrize(
    ("by", "sums"),
    [
        ("kind", [("transcripts", 320, 2), ("states", 1, 1), ("caches", 4000, 1)]),
        ("session", [("b", 4001, 2), ("a", 20, 1), ("", 300, 1)]),
        ("age", [("today", 1, 1), ("month", 20, 1), ("older", 300, 1), ("", 4000, 1)]),
    ],
)
def test_sums_stand_in_their_order(by: str, sums: list[tuple[str, int, int]]) -> None:
    assert space_sums.sum_items(ITEMS, by, NOW) == sums
    assert sum(size for _, size, _ in sums) == 4321


@pytest.mark.parametrize(
    ("days", "name"),
    [
        (-1, "today"),
        (0.99, "today"),
        (1, "week"),
        (7, "month"),
        (30, "year"),
        (365, "older"),
    ],
)
def test_an_age_belongs_to_the_class_below_its_limit(days: float, name: str) -> None:
    assert space_sums.classify_age(days * DAY) == name


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1_500_000, "1.4 MiB"),
        (3 << 30, "3.0 GiB"),
        (5 << 50, "5120.0 TiB"),
    ],
)
def test_bytes_are_shown_in_the_largest_unit(count: int, shown: str) -> None:
    assert space_sums.format_size(count) == shown
