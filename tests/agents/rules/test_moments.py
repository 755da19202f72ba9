"""Transcripts of real clients, cut inside a turn: before a prompt, and around one call."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from gitcp.agents import name_call
from gitcp.agents.claude_code import cut as claude_code_cut
from gitcp.agents.codex import cut
from gitcp.agents.gemini_cli import cut as gemini_cli_cut
from gitcp.agents.reading import items
from gitcp.agents.reading.conversation import find_prompt
from gitcp.agents.transcripts.cuts import Prompt
from tests.agents.rules.test_cuts import NEW, OLD, claude, lines, transcript
from tests.support.paths import DATA


def sketch(data: bytes) -> list[str]:
    """What a transcript holds: the prompts, the answers, calls and results by their ids."""
    return [
        item["id"][-4:] if item["kind"] in ("call", "result") else item["text"]
        for item in items.list_items(data)
    ]


def exactly(cutter: ModuleType, data: bytes, leaf: str) -> list[str]:
    return sketch(cutter.cut_conversation(data, leaf, OLD, NEW, False, exact=True)[0])


def calls(data: bytes) -> list[str]:
    return [item["id"] for item in items.list_items(data) if item["kind"] == "call"]


@pytest.mark.parametrize(
    ("cutter", "name", "first", "again"),
    [
        (
            claude_code_cut,
            "claude-code/resume",
            "All done: first prompt zq.",
            "Second prompt please",
        ),
        (cut, "codex/resume", "All done: first prompt zq.", "Second prompt please"),
        (gemini_cli_cut, "gemini-cli/resume", "All done: first prompt zq.", "Second prompt please"),
    ],
)
def test_before_a_prompt_is_all_that_came_before_it_and_nothing_before_the_first(
    cutter: ModuleType, name: str, first: str, again: str
) -> None:
    data = transcript(name)
    prompts = cutter.list_prompts(data)
    assert prompts[0][2] == ""
    second = next(one for one in prompts if one[0] == again)
    kept = sketch(cutter.cut_conversation(data, second[2], OLD, NEW, False)[0])
    assert kept[-1] == first
    assert again not in kept


def test_around_one_of_several_calls_made_at_once_only_the_earlier_ones_stay() -> None:
    data = transcript("claude-code/parallel")
    one, two, three = calls(data)[:3]
    begin = ["Go parallel"]
    said = [*begin, "Three writes at once."]
    around = claude_code_cut.find_leaves_around
    assert exactly(claude_code_cut, data, around(data, one)[0]) == begin
    assert exactly(claude_code_cut, data, around(data, one)[1]) == [*said, one[-4:], one[-4:]]
    assert exactly(claude_code_cut, data, around(data, two)[0]) == [*said, one[-4:], one[-4:]]
    both = [*said, *(call[-4:] for call in (one, two, one, two))]
    assert exactly(claude_code_cut, data, around(data, two)[1]) == both
    assert exactly(claude_code_cut, data, around(data, three)[0]) == both


def test_around_a_call_of_codex_its_output_and_what_led_to_it_stay_or_go() -> None:
    data = transcript("codex/basic")
    one, two = calls(data)[:2]
    begin = ["Create hello.py and edit README"]
    whole = [*begin, "I will create hello.py.", one[-4:], one[-4:]]
    around = cut.find_leaves_around
    assert exactly(cut, data, around(data, one)[0]) == begin
    assert exactly(cut, data, around(data, one)[1]) == whole
    assert exactly(cut, data, around(data, two)[0]) == whole
    found = cut.cut_conversation(data, around(data, one)[1], OLD, NEW, False, exact=True)[0]
    assert lines(found)[-1]["ordinal"] > 0


def test_outputs_that_come_late_are_kept_with_their_calls() -> None:
    def line(n: int, **payload: str) -> bytes:
        told: dict[str, Any] = {"type": "response_item", "ordinal": n, "payload": payload}
        return json.dumps(told).encode() + b"\n"

    data = line(1, type="message", role="user", content="go")
    data += line(2, type="reasoning") + line(3, type="function_call", call_id="a")
    data += line(4, type="function_call", call_id="b")
    data += line(5, type="function_call_output", call_id="b")
    data += line(6, type="function_call_output", call_id="a")
    before, after = cut.find_leaves_around(data, "b")

    def ordinals(leaf: str) -> list[int]:
        return [
            one["ordinal"]
            for one in lines(cut.cut_conversation(data, leaf, OLD, NEW, False, exact=True)[0])
        ]

    assert (ordinals(before), ordinals(after)) == ([1, 2, 3, 6], [1, 2, 3, 4, 5, 6])
    assert ordinals(cut.find_leaves_around(data, "a")[0]) == [1]


def test_a_call_of_gemini_is_known_by_what_it_was_told_in_hook_and_transcript() -> None:
    """Its hooks name no calls; of two that are told the same, before is before the first and after
    is after the last."""
    data = transcript("gemini-cli/basic")
    events = (DATA / "recordings/gemini-cli/basic/events.jsonl").read_text().splitlines()
    payloads = [event["payload"] for event in map(json.loads, events)]
    named = [
        name_call(one["tool_input"]) for one in payloads if one["hook_event_name"] == "BeforeTool"
    ]
    ended = [
        name_call(one["tool_input"]) for one in payloads if one["hook_event_name"] == "AfterTool"
    ]
    assert named == ended and len(set(named)) == 6
    for number in range(4):
        before, after = gemini_cli_cut.find_leaves_around(data, named[number])
        assert len(cut_calls(data, before)) == number
        assert len(cut_calls(data, after)) == number + 1
    twice = data + data.replace(b'"id": "', b'"id": "again-')
    assert (
        gemini_cli_cut.find_leaves_around(twice, named[0])[0]
        == gemini_cli_cut.find_leaves_around(data, named[0])[0]
    )
    assert gemini_cli_cut.find_leaves_around(twice, named[0])[1].startswith("again-")


def cut_calls(data: bytes, leaf: str) -> list[str]:
    return calls(gemini_cli_cut.cut_conversation(data, leaf, OLD, NEW, False, exact=True)[0])


@pytest.mark.parametrize("cutter", [claude_code_cut, cut, gemini_cli_cut])
def test_a_call_that_is_not_there_has_nothing_around_it(cutter: ModuleType) -> None:
    data = transcript("claude-code/parallel") + transcript("codex/basic")
    assert cutter.find_leaves_around(data, "toolu_unknown") == ("", "")
    assert cutter.find_leaves_around(data, "") == ("", "")


def test_a_prompt_is_none_of_what_the_client_said_in_the_persons_place() -> None:
    data = claude(
        ("user", "a1", None, "one"),
        ("assistant", "b1", "a1", "answer"),
        ("user", "c1", "b1", [{"type": "tool_result", "tool_use_id": "t"}]),
        ("user", "d1", "c1", "<task-notification>\ndone"),
        ("user", "e1", "d1", "<system-reminder>x</system-reminder>two"),
    )
    assert [one[0] for one in claude_code_cut.list_prompts(data)] == ["one", "two"]


NOON = 1_795_219_200
AT = ["2026-11-21T00:00:00.000Z", "2026-11-21T00:01:00.000Z", "2026-11-21T00:02:00.000Z"]
GO_ON = [
    Prompt("go on", AT[0], "a"),
    Prompt("go on", AT[1], "b"),
    Prompt("and now", AT[2], "c"),
]


@pytest.mark.parametrize(
    ("asked_for", "until", "leaf"),
    [
        ("go on", NOON + 30, "a"),
        ("go on", NOON + 90, "b"),
        ("go on", NOON + 900, "b"),
        ("and", NOON + 900, "c"),
        ("REDACTED", NOON + 90, "b"),
        ("go on", NOON - 90, ""),
    ],
)
def test_of_equal_prompts_the_one_before_the_turns_first_edit_began_it(
    asked_for: str, until: int, leaf: str
) -> None:
    found = find_prompt(GO_ON, asked_for, until)
    assert (found.leaf if found else "") == leaf


def test_without_times_the_text_alone_tells() -> None:
    untimed = [prompt._replace(time="") for prompt in GO_ON]
    assert find_prompt(untimed, "and now", 0) == untimed[2]
    assert find_prompt(untimed, "never asked", 0) is None
    long = Prompt("a", "1" * 5000, "x")
    assert find_prompt([long], "a", 0) == long
