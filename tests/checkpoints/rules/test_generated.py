"""What a model is asked for a summary, and what of its answer is kept."""

from __future__ import annotations

import json

import pytest

from gitcp.checkpoints.format import schema
from gitcp.errors import InputError

WHOLE = {
    "intent": "i",
    "outcome": "o",
    "learnings": {"repo": ["r"], "code": [{"path": "p", "finding": "f"}], "workflow": ["w"]},
    "friction": ["x"],
    "open_items": [],
}


@pytest.mark.parametrize(
    "printed",
    [
        json.dumps(WHOLE),
        json.dumps({"result": json.dumps(WHOLE)}),
        json.dumps([{"type": "system"}, {"type": "result", "result": json.dumps(WHOLE)}]),
        f"Sure!\n```json\n{json.dumps(WHOLE, indent=1)}\n```\n",
    ],
)
def test_the_summary_is_found_in_whatever_is_printed_around_it(printed: str) -> None:
    assert schema.parse_summary(printed) == WHOLE


def test_what_is_of_another_type_is_left_out() -> None:
    given = {
        "intent": "i",
        "outcome": 3,
        "learnings": [1],
        "friction": "no",
        "open_items": ["a", 1],
    }
    assert schema.parse_summary(json.dumps(given)) == {
        "intent": "i",
        "outcome": "",
        "learnings": {"repo": [], "code": [], "workflow": []},
        "friction": [],
        "open_items": ["a"],
    }


@pytest.mark.parametrize(
    "printed", ["", "{}", "[]", "[1]", '"x"', '{"intent": 1}', "{ {", "[" * 10**5]
)
def test_no_summary_is_an_error(printed: str) -> None:
    with pytest.raises(InputError, match="no summary"):
        schema.parse_summary(printed)


def test_of_a_long_transcript_the_beginning_and_the_end_are_asked_about() -> None:
    said = [("User", "first"), ("Assistant", "x" * 500_000), ("User", "last")]
    asked = schema.build_request(["a.py"], said)
    assert len(asked) < 130_000
    assert "[User] first" in asked and "[User] last" in asked and "a.py" in asked
