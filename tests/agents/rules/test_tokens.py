from __future__ import annotations

from typing import Any

import pytest

from gitcp.agents import transcripts
from gitcp.agents.transcripts import make_usage

ONE, TWO = make_usage(1, 2, 3, 4, 1), make_usage(10, 20, 30, 40, 2)


def test_nothing_used_is_five_zeros() -> None:
    assert (
        make_usage()
        == transcripts.add_tokens()
        == transcripts.add_tokens(None)
        == transcripts.make_usage(0, 0, 0, 0, 0)
    )


def test_usages_add_up_and_their_subagents_apart() -> None:
    parent = {**ONE, "subagent_tokens": TWO}
    total = transcripts.add_tokens(parent, None, ONE, parent)  # type: ignore[arg-type]
    assert total == {**make_usage(3, 6, 9, 12, 3), "subagent_tokens": make_usage(20, 40, 60, 80, 4)}


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        (TWO, ONE, make_usage(9, 18, 27, 36, 1)),
        (TWO, None, TWO),
        (None, TWO, make_usage()),
        (ONE, TWO, make_usage()),
        (
            {**TWO, "subagent_tokens": TWO},
            {**ONE, "subagent_tokens": ONE},
            {**make_usage(9, 18, 27, 36, 1), "subagent_tokens": make_usage(9, 18, 27, 36, 1)},
        ),
        (
            {**TWO, "subagent_tokens": TWO},
            ONE,
            {**make_usage(9, 18, 27, 36, 1), "subagent_tokens": TWO},
        ),
    ],
)
def test_the_difference_of_two_usages_is_never_below_nothing(
    now: Any, before: Any, expected: Any
) -> None:
    assert transcripts.subtract_tokens(now, before) == expected


def test_subagents_are_counted_beside_the_session() -> None:
    nested = {**ONE, "subagent_tokens": ONE}
    found = transcripts.add_subagents(ONE, [TWO, None, nested])  # type: ignore[list-item]
    assert found == {**ONE, "subagent_tokens": make_usage(12, 24, 36, 48, 4)}
    assert transcripts.add_subagents(None, []) is None
    assert transcripts.add_subagents(ONE, [None]) == ONE


def test_the_root_of_a_checkpoint_has_one_flat_sum() -> None:
    nested = {**ONE, "subagent_tokens": {**ONE, "subagent_tokens": ONE}}
    assert transcripts.flatten_tokens(nested) == make_usage(3, 6, 9, 12, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (-1, 0), ("3", 0), (None, 0), (2.5, 0)])
def test_what_is_no_count_is_nothing(value: object, expected: int) -> None:
    assert transcripts.parse_count(value) == expected


def test_a_usage_with_missing_keys_is_read() -> None:
    given = {"output_tokens": 5}
    assert transcripts.add_tokens(given) == make_usage(output=5)  # type: ignore[arg-type]
