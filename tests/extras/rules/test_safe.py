"""What makes hostile text harmless, and where things stand on the timeline."""

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


def test_json_cannot_end_its_element() -> None:
    hostile = {"</script><script>": "<!--\u2028&amp;"}
    text = page_parts.embed_json(hostile)
    assert not set("<>&") & set(text) and text.isascii()
    assert json.loads(text) == hostile


def test_a_long_pause_takes_no_more_room_than_half_an_hour() -> None:
    scale = scales.Scale([0, 1800, 1800 + 86400])
    assert [scale(t) for t in (0, 900, 1800, 1800 + 86400)] == [0, 250, 500, 1000]
    assert scale(-5) == 0 and scale(1e12) == 1000
    assert scales.Scale([])(7) == 0


def test_a_pause_takes_no_more_room_than_a_quarter_of_all_else() -> None:
    scale = scales.Scale([0, 10, 20, 1000])
    assert [scale(t) for t in (0, 10, 20, 1000)] == [0, 400, 800, 1000]


def test_a_turn_that_took_no_time_can_be_hit_and_stays_inside() -> None:
    scale = scales.Scale([0, 100])
    assert scale.place_span(100, 100) == (996.0, 4.0)
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


DAY = 86400


def test_a_plot_has_each_day_also_those_without_a_commit() -> None:
    commits = [(5.0, {"agent": 2}), (9.0, {"agent": 1, "person": 4}), (2.5 * DAY, {"unknown": 3})]
    plot = page_parts.build_plot(commits, [(1.1 * DAY, 7, 0.5), (99 * DAY, 1, 0.0)])
    assert plot == {
        "days": 1,
        "bars": [
            {"time": 0, "lines": {"agent": 3, "person": 4}, "tokens": 0, "cost": 0.0},
            {"time": DAY, "lines": {}, "tokens": 7, "cost": 0.5},
            {"time": 2 * DAY, "lines": {"unknown": 3}, "tokens": 1, "cost": 0.0},
        ],
    }


def test_a_plot_of_two_days_has_commits_with_what_was_spent_before_them() -> None:
    plot = page_parts.build_plot([(9.0, {"agent": 1}), (5.0, {})], [(1.0, 2, 0.0), (6.0, 4, 0.0)])
    assert plot and plot["days"] == 0
    assert [(bar["time"], bar["tokens"]) for bar in plot["bars"]] == [(5.0, 2), (9.0, 4)]


def test_a_plot_has_few_bars_however_long_it_was_and_none_for_one() -> None:
    plot = page_parts.build_plot([(n * DAY, {"agent": 1}) for n in range(1000)], [])
    assert plot and len(plot["bars"]) <= page_parts.MOST_BARS and plot["days"] == 10
    assert sum(bar["lines"]["agent"] for bar in plot["bars"]) == 1000
    assert page_parts.build_plot([(5.0, {"agent": 1})], []) is None
    many = page_parts.build_plot([(float(n * 600), {"agent": 1}) for n in range(200)], [])
    assert many and many["days"] == 1 and len(many["bars"]) == 2
