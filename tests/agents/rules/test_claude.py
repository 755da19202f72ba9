from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.agents import transcripts
from gitcp.agents.claude_code import CLIENT
from tests.support import recording

# read by hand: scenario, lines, prompts, calls of 10 tokens in and 20 out, written
RECORDED: list[tuple[str, int, list[str], int, list[str]]] = [
    ("api-error", 40, ["Go error"], 1, ["/repo/k.txt"]),
    (
        "basic",
        44,
        ["Create hello.py and edit README"],
        5,
        ["/repo/hello.py", "/repo/README.md"],
    ),
    ("compact", 64, ["First", "After"], 2, []),
    ("deny-exit2", 37, ["Go deny"], 3, []),
    ("deny-json", 37, ["Go deny"], 3, []),
    ("fail", 67, ["Go fail"], 10, ["/repo/README.md"]),
    ("parallel", 54, ["Go parallel"], 4, ["/repo/a.txt", "/repo/b.txt"]),
    (
        "resume",
        57,
        ["Create hello.py and edit README", "Second prompt please"],
        7,
        ["/repo/hello.py", "/repo/README.md", "/repo/second.txt"],
    ),
    ("sigint", 34, ["Go kill"], 2, ["/repo/k.txt"]),
    ("stop-block", 83, ["Go stop"], 11, ["/repo/denied.txt"]),
    ("subagent", 42, ["Go subagent"], 4, []),
    (
        "tui",
        51,
        ["Create hello interactively"],
        5,
        ["/repo/hello.py", "/repo/README.md"],
    ),
    ("tui-esc", 49, ["Go slow", "Continue please"], 3, ["/repo/k.txt"]),
]


@pytest.mark.parametrize(("scenario", "lines", "prompts", "calls", "written"), RECORDED)
def test_a_real_transcript_is_read(
    scenario: str, lines: int, prompts: list[str], calls: int, written: list[str]
) -> None:
    found = CLIENT.scan(recording.transcript("claude-code", scenario))
    assert (found["items"], found["skipped"]) == (lines, 0)
    assert (found["prompts"], found["written"]) == (prompts, written)
    assert found["usage"] == transcripts.make_usage(10 * calls, 0, 0, 20 * calls, calls)


def test_subagents_are_found_and_their_transcripts_read() -> None:
    found = CLIENT.scan(recording.transcript("claude-code", "subagent"))
    assert found["subagents"] == ["ad39abccf79166956", "ac86c8dc02668f0fb"]
    assert found["last_identifier"] == "33df7346-b422-4174-a01a-ef2b724181c6"
    assert found["last_timestamp"] == "2026-11-21T00:03:45.353Z"
    inner = [
        CLIENT.scan(recording.transcript("claude-code", "subagent", name))
        for name in ("transcript-2", "transcript-3")
    ]
    assert [i["written"] for i in inner] == [["/repo/sub_beta.txt"], ["/repo/sub_alpha.txt"]]
    assert [i["prompts"] for i in inner] == [[], []]
    total = transcripts.add_subagents(found["usage"], [i["usage"] for i in inner])
    assert total == {
        **transcripts.make_usage(40, 0, 0, 80, 4),
        "subagent_tokens": transcripts.make_usage(50, 0, 0, 100, 5),
    }


def user(content: object, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def said(key: str, output: int, *content: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3,
        "output_tokens": output,
    }
    message = {"id": key, "role": "assistant", "content": list(content), "usage": usage}
    return {"type": "assistant", "message": message}


def write(key: str, path: str, name: str = "Write") -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": {"file_path": path}}


def result(key: object, error: bool = False, content: object = "ok") -> dict[str, Any]:
    found = {"type": "tool_result", "tool_use_id": key, "content": content}
    return {**found, "is_error": True} if error else found


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def lines(entries: tuple[Any, ...] | list[Any], compact: bool) -> bytes:
    separators = (",", ":") if compact else (", ", ": ")
    return b"".join(json.dumps(e, separators=separators).encode() + b"\n" for e in entries)


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize(
    ("entry", "prompts"),
    [
        (user("plain"), ["plain"]),
        (user([text("one"), {"type": "image"}, text("two")]), ["one\n\ntwo"]),
        (user([result("t"), text("typed meanwhile")]), ["typed meanwhile"]),
        (user([text("typed before"), result("t")]), ["typed before"]),
        (user([result("t", content=[text("said by a tool")])]), []),
        (user('",{"type":"text" "tool_result"'), ['",{"type":"text" "tool_result"']),
        (user("meta", isMeta=True), []),
        (user("summary", isCompactSummary=True), []),
        (user("inner", isSidechain=True), []),
        (user("<task-notification>x</task-notification>"), []),
        (user("[Request interrupted by user for tool use]"), []),
        (user("<command-name>/clear</command-name>"), []),
        ({"type": "progress", "data": user("inner")}, []),
        (
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and this"}},
            ["and this"],
        ),
    ],
)
def test_a_prompt_is_what_the_person_typed(entry: Any, prompts: list[str], compact: bool) -> None:
    assert CLIENT.scan(lines([entry], compact))["prompts"] == prompts


@pytest.mark.parametrize(("asked_in", "want"), [("o", ["two"]), ("s", ["one", "two"])])
def test_what_the_original_of_a_fork_was_asked_is_no_prompt_of_it(
    asked_in: str, want: list[str]
) -> None:
    answer = {**said("m1", 5), "sessionId": "s", "requestSessionId": asked_in}
    entries = [user("one"), answer, user("two"), {**said("m2", 5), "sessionId": "s"}]
    assert CLIENT.scan(lines(entries, True))["prompts"] == want
    first = CLIENT.scan(lines(entries[:1], True))
    assert CLIENT.scan(lines(entries[1:], True), previous=first)["prompts"] == want


def test_a_message_on_several_lines_counts_once_with_its_largest_output() -> None:
    entries = [said("m1", 5), said("m1", 9), said("m2", 1), said("m1", 7)]
    expected = transcripts.make_usage(2, 4, 6, 10, 2)
    assert CLIENT.scan(lines(entries, True))["usage"] == expected
    found = CLIENT.scan(lines(entries[:1], True))
    assert CLIENT.scan(lines(entries[1:], True), previous=found)["usage"] == expected


@pytest.mark.parametrize(
    ("entries", "written"),
    [
        ([said("m", 1, write("t1", "a")), user([result("t1")])], ["a"]),
        ([said("m", 1, write("t1", "a")), user([result("t1", True)])], []),
        ([said("m", 1, write("t1", "a"))], ["a"]),
        ([said("m", 1, write("t1", "a")), user([result("t1"), result(["t1"])])], ["a"]),
        (
            [
                said("m", 1, write("t1", "a"), write("t2", "a")),
                user([result("t1")]),
                user([result("t2", True)]),
            ],
            ["a"],
        ),
        (
            [said("m", 1, write("t1", "a", "Read"), write("t2", "b", "MultiEdit"))],
            ["b"],
        ),
    ],
)
def test_a_path_is_written_unless_the_call_failed(entries: list[Any], written: list[str]) -> None:
    for cut in range(len(entries) + 1):
        first = CLIENT.scan(lines(entries[:cut], True))
        found = CLIENT.scan(lines(entries[cut:], True), previous=first)
        assert found["written"] == written


def test_an_older_client_names_its_subagent_in_the_text_of_a_task_only() -> None:
    entries = [
        said("m", 1, {"type": "tool_use", "id": "t1", "name": "Task", "input": {}}),
        user([result("t1", content=[text("done\nagentId: ag1 (for later)")])]),
        user([result("t2", content="agentId: not-a-task")]),
    ]
    assert CLIENT.scan(lines(entries, True))["subagents"] == ["ag1"]


def test_a_message_that_the_client_made_up_is_no_call_of_a_model_and_names_none() -> None:
    made_up = said("m2", 0, text("API Error"))
    made_up["message"]["model"] = "<synthetic>"
    real = said("m1", 4, text("done"))
    real["message"]["model"] = "opus-9"
    found = CLIENT.scan(lines([user("go"), real, made_up], compact=True))
    assert found["usage"] == transcripts.make_usage(1, 2, 3, 4, 1) and found["model"] == "opus-9"
