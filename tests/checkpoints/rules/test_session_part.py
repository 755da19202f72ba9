"""Which prompts and files of a session are behind a commit."""

from __future__ import annotations

import pytest

from gitcp.checkpoints.format import schema


@pytest.mark.parametrize(
    ("made", "said", "asked"),
    [
        ([], [], []),
        ([], [""], []),
        ([], ["one", "two"], ["two"]),
        ([], ["one", "[Request interrupted by user]"], ["one"]),
        (["two", "one", "two"], ["one", "two", "three"], ["one", "two"]),
        (["", "gone"], ["one"], ["gone"]),
        ([], ["one", "Base directory for this skill: /s"], ["one"]),
        (["[Image #1]"], ["one", "[Image #1]"], ["one"]),
        (["[Image #1]", "one"], ["one", "[Image #1]", "two"], ["one"]),
    ],
)
def test_the_prompts_that_made_something_or_the_last_one(
    made: list[str], said: list[str], asked: list[str]
) -> None:
    assert schema.choose_prompts(made, said) == asked


def test_a_session_has_the_files_of_both_lists_and_keeps_what_is_told() -> None:
    metadata = {
        "session_id": "s",
        "files": {"a": {"oid": "x", "turn_id": "t", "prompt": "one"}, "c": 3},
        "files_touched": ["b", "a", 4],
        "token_usage": {"input_tokens": 1},
        "branch": None,
    }
    found = schema.build_part(metadata, ["one"])
    nothing = {"turn_id": "", "prompt": ""}
    assert found["files"] == {"a": {"turn_id": "t", "prompt": "one"}, "b": nothing, "c": nothing}
    assert found["asked"] == ["one"]
    assert found["token_usage"] == {"input_tokens": 1}
    assert found["agent"] == "" and "branch" not in found


@pytest.mark.parametrize("strange", [None, [], 3, "x"])
def test_strange_types_are_no_crash(strange: object) -> None:
    found = schema.build_part({"files": strange, "files_touched": strange}, [])
    assert found["files"] == {} and found["asked"] == []
