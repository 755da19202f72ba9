"""What makes hostile text harmless, how times are placed, and what turns have."""

from __future__ import annotations

import json

import pytest

from gitcp.agents.reading.turns import gather_turns
from gitcp.extras.page import page_parts
from gitcp.terminal import scales


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\x1b[31mred\x00", "␛[31mred␀"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("half \udcff", "half \ufffd"),
        ("👩\u200d💻 日本語 é", "👩\u200d💻 日本語 é"),
        ("\u200da\u200db\u200d\u200d", "⟨U+200D⟩a⟨U+200D⟩b⟨U+200D⟩⟨U+200D⟩"),
        ("\x7f\u2028\u2029", "⟨U+007F⟩⟨U+2028⟩⟨U+2029⟩"),
        ("a\u3164b\ufff9\u180e", "a⟨U+3164⟩b⟨U+FFF9⟩⟨U+180E⟩"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
    ],
)
def test_what_hides_is_shown_and_what_is_text_stays(text: str, shown: str) -> None:
    assert page_parts.name_hidden(text) == shown


def test_a_long_pause_takes_no_more_room_than_half_an_hour() -> None:
    scale = scales.Scale([0, 1800, 1800 + 86400])
    assert [scale(t) for t in (0, 900, 1800, 1800 + 86400)] == [0, 250, 500, 1000]
    assert scale(-5) == 0 and scale(1e12) == 1000
    assert scales.Scale([])(7) == 0


def test_a_pause_takes_no_more_room_than_a_quarter_of_all_else() -> None:
    scale = scales.Scale([0, 10, 20, 1000])
    assert [scale(t) for t in (0, 10, 20, 1000)] == [0, 400, 800, 1000]


def test_a_bar_is_as_wide_as_its_parts() -> None:
    assert scales.divide_bar({"a": 1, "b": 0, "c": 3}, 100) == [
        ("a", 0.0, 25.0),
        ("c", 25.0, 75.0),
    ]


def test_turns_have_their_tools_results_and_subagents() -> None:
    said = [
        {"type": "user", "message": {"role": "user", "content": "Do it"}},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Yes."},
                    {
                        "type": "tool_use",
                        "id": "u1",
                        "name": "Edit",
                        "input": {"file_path": "f", "old_string": "a", "new_string": "b\nc"},
                    },
                    {"type": "tool_use", "id": "u2", "name": "Task", "input": {"prompt": "p"}},
                ],
            },
        },
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "u1", "content": "done"}],
            },
        },
        {"type": "user", "message": {"role": "user", "content": "Again"}},
    ]
    data = "\n".join(map(json.dumps, said)).encode()
    below = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": "sub"}})
    first, second = gather_turns(data, tasks={"u2": below.encode()})
    assert (first["number"], first["prompt"], second["prompt"]) == (1, "Do it", "Again")
    answer, edit, task = first["parts"]
    assert answer == {"kind": "answer", "text": "Yes."}
    assert edit["diff"] == [("-", "a"), ("+", "b"), ("+", "c")] and edit["result"] == "done"
    assert task["task"] == [{"kind": "answer", "text": "sub"}]


def test_an_edit_has_the_lines_that_it_changes_and_no_others() -> None:
    def edit(old: str, new: str) -> list[str]:
        call = {"type": "tool_use", "id": "u", "name": "Edit"}
        given = {"file_path": "f", "old_string": old, "new_string": new}
        said = {"role": "assistant", "content": [{**call, "input": given}]}
        data = json.dumps({"type": "assistant", "message": said}).encode()
        return [sign + text for sign, text in gather_turns(data)[0]["parts"][0]["diff"]]

    assert edit("a\nb\nc\nd", "a\nb\nX\nd") == [" a", " b", "-c", "+X", " d"]
    assert edit("a\nb", "b\na") in ([" a", "-b", "+b"], ["-a", " b", "+a"], ["+b", " a", "-b"])
    assert edit("", "a") == ["+a"] and edit("a", "") == ["-a"]
    assert edit("\ud800\na", "\ud800\nb")[1:] == ["-a", "+b"]
