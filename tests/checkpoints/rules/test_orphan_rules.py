"""Which refs are past keeping, and whose edits go where there are more than may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gitcp.checkpoints.format import orphan_rules


def ref(name: str, time: int) -> orphan_rules.Ref:
    return {"type": "ref", "ref": name, "oid": "1" * 40, "time": time}


GIVEN = [ref("s/10", 5), ref("s/9", 5), ref("t/1", 9), ref("s/2", 2)]


@pytest.mark.parametrize(
    ("keep", "before", "refs"),
    [
        (0, 99, ["s/2", "s/9", "s/10", "t/1"]),
        (1, 99, ["s/2", "s/9"]),
        (2, 99, ["s/2"]),
        (3, 99, []),
        (0, 5, ["s/2"]),
        (0, 6, ["s/2", "s/9", "s/10"]),
    ],
)
def test_the_newest_of_each_directory_and_the_young_are_kept(
    keep: int, before: int, refs: list[str]
) -> None:
    assert [r["ref"] for r in orphan_rules.list_expired(GIVEN, keep, before)] == refs


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("refs/gitcp/archive/1234567-e3b0c4/1", True),
        ("refs/heads/entire/1234567-e3b0c4", True),
        ("refs/heads/entire/checkpoints/v1", False),
        ("refs/notes/gitcp", False),
        ("refs/heads/main", False),
        ("refs/heads/entirely", False),
        ("HEAD", False),
    ],
)
def test_only_temporary_data_of_ours_may_be_deleted(name: str, ours: bool) -> None:
    assert orphan_rules.is_deletable(name) is ours


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
    assert orphan_rules.choose_surplus(SIZES, SETTLED, ceiling) == going


def test_a_session_without_edits_gives_nothing() -> None:
    assert orphan_rules.choose_surplus({"a": 5, "b": 0}, ["b", "a"], 1) == ["a"]


def stream(*paths: str) -> dict[str, object]:
    return {"files": dict.fromkeys(paths, "a file")}


@pytest.mark.parametrize(
    ("state", "settled"),
    [
        ({"phase": "idle"}, True),
        ({"phase": "ended"}, True),
        ({"phase": "active"}, False),
        ({"phase": ""}, False),
        ({"phase": "ended", "unreadable": "it is gone"}, False),
        ({"phase": "ended", "turn_checkpoint_ids": ["0123456789ab"]}, False),
        ({"phase": "ended", "streams": [stream(), stream()]}, True),
        ({"phase": "ended", "streams": [stream(), stream("a.py")]}, False),
    ],
)
def test_a_session_is_settled_once_nothing_needs_it(
    state: Mapping[str, Any], settled: bool
) -> None:
    assert orphan_rules.is_settled({"streams": [], **state}) is settled


@pytest.mark.parametrize(
    ("name", "owners"),
    [
        ("s1", {"s1"}),
        ("s.1", {"s.1"}),
        ("s1.json", {"s1.json", "s1"}),
        ("s1.jsonl", {"s1.jsonl", "s1"}),
        ("s1.redacted.4711", {"s1.redacted.4711", "s1"}),
        ("s1~agent.json", {"s1"}),
        (".middle", {".middle"}),
    ],
)
def test_a_file_may_be_of_every_session_that_its_name_begins_with(
    name: str, owners: set[str]
) -> None:
    assert orphan_rules.list_possible_owners(name) == owners


def test_an_age_is_told_in_whole_days() -> None:
    ages = (0, orphan_rules.DAY - 1, 86400, 2 * 86400)
    assert [orphan_rules.format_days(age) for age in ages] == [
        "0 days",
        "0 days",
        "1 day",
        "2 days",
    ]
