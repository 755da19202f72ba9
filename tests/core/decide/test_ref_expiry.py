"""Which refs are past keeping."""

from __future__ import annotations

import pytest

from gitcp.core.decide import orphan_rules


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
