"""What was said, in the transcripts of every client."""

from __future__ import annotations

import json

import pytest

from gitcp.agents.reading.conversation import list_entries
from tests.support import recording
from tests.support.recording import SPOKEN, transcript


def lines(*entries_: object) -> bytes:
    return b"".join(json.dumps(e).encode() + b"\n" for e in entries_)


def user(content: object, **more: object) -> dict[str, object]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def call(name: str, arguments: object) -> dict[str, object]:
    block = {"type": "tool_use", "name": name, "input": arguments}
    return {"type": "assistant", "message": {"content": [block]}}


@pytest.mark.parametrize(("agent", "scenario"), SPOKEN)
def test_every_recording_begins_with_its_first_prompt(agent: str, scenario: str) -> None:
    found = list(list_entries(transcript(agent, scenario)))
    first = {"First", "Go", "Create", "Work", "Write", "warm"}
    assert found[0][0] == "User" and found[0][1].strip('"').split()[0] in first
    assert {role for role, _ in found} <= {"User", "Assistant", "Tool"}
    assert any(role == "Assistant" for role, _ in found) or scenario.startswith("sig")


@pytest.mark.parametrize(
    ("agent", "calls"),
    [
        (
            "claude-code",
            ["Write: /repo/hello.py", "Read: /repo/README.md", "Edit: /repo/README.md"],
        ),
        ("codex", ["apply_patch: hello.py", "apply_patch: README.md"]),
        ("gemini-cli", ["write_file: /repo/hello.py", "read_file: /repo/README.md"]),
    ],
)
def test_a_call_of_a_tool_is_one_line_with_what_it_is_about(agent: str, calls: list[str]) -> None:
    found = [text for role, text in list_entries(transcript(agent, "basic")) if role == "Tool"]
    assert found[: len(calls)] == calls
    shell = 'echo x > shell.txt && git add -A && git commit -m "agent commit"'
    assert any(text.endswith(shell) for text in found)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (user("hi"), [("User", "hi")]),
        (user([{"type": "text", "text": "hi"}]), [("User", "hi")]),
        (user([{"type": "tool_result", "content": "out"}]), []),
        (user("<system-reminder>x</system-reminder>hi"), [("User", "hi")]),
        (user("<task-notification>x</task-notification>"), []),
        (user("[Request interrupted by user]"), []),
        (user("hi", isMeta=True), []),
        (user("hi", isSidechain=True), []),
        (user(None), []),
        (user([3, {"type": "text"}, {"type": "text", "text": 4}]), []),
        (call("Bash", {"command": "a\n  b", "description": "c"}), [("Tool", "Bash: a b")]),
        (call("Odd", {"x": 1}), [("Tool", "Odd")]),
        (call("Odd", None), [("Tool", "Odd")]),
        (
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "more"}},
            [("User", "more")],
        ),
        ({"type": "user", "message": "x"}, []),
        ({"type": "user"}, []),
        (["user"], []),
        (
            {"type": "response_item", "payload": {"type": "message", "role": "developer"}},
            [],
        ),
    ],
)
def test_a_line_says(entry: object, found: list[tuple[str, str]]) -> None:
    assert list(list_entries(lines(entry))) == found


def test_a_document_over_many_lines_is_read() -> None:
    messages = [
        {"id": "1", "type": "user", "content": "hi"},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [{"name": "ls", "args": {}}]},
        {"id": "3", "type": "warning", "content": "no"},
    ]
    document = {"sessionId": "s", "projectHash": "p", "messages": messages}
    wanted = [("User", "hi"), ("Tool", "ls")]
    assert list(list_entries(json.dumps(document, indent=2).encode())) == wanted
    assert list(list_entries(json.dumps(document).encode())) == wanted


def test_a_message_that_comes_again_stands_in_its_first_place() -> None:
    head = {"sessionId": "s", "projectHash": "p"}
    first = {"id": "1", "type": "user", "content": "old"}
    other = {"id": "2", "type": "gemini", "content": "answer"}
    data = lines(head, first, other, {"$set": {"messages": [{**first, "content": "new"}]}})
    assert list(list_entries(data)) == [("User", "new"), ("Assistant", "answer")]
    assert list(list_entries(data, 1)) == [("Assistant", "answer")]


def test_a_resumed_session_of_gemini_still_shows_the_calls_it_made_before() -> None:
    data = recording.transcript("gemini-cli", "resume")
    said = list(list_entries(data))
    first = said.index(("User", "Second prompt please"))
    before = [text for role, text in said[:first] if role == "Tool"]
    assert before == [
        "write_file: /repo/hello.py",
        "read_file: /repo/README.md",
        "replace: /repo/README.md",
        'run_shell_command: echo x > shell.txt && git add -A && git commit -m "agent commit"',
        "write_file: /repo/a.txt",
        "write_file: /repo/b.txt",
    ]


def test_a_call_that_a_resumed_session_of_gemini_has_twice_is_shown_once() -> None:
    path = {"file_path": "a.txt"}
    call = {"id": "c1", "name": "write_file", "args": path}
    message = {"id": "2", "type": "gemini", "content": "now", "toolCalls": [call]}
    parts = [{"text": "now"}, {"functionCall": call}, {"functionCall": {**call, "id": "c2"}}]
    resumed = {"$set": {"messages": [{**message, "content": parts}]}}
    wanted = [("Assistant", "now"), *[("Tool", "write_file: a.txt")] * 2]
    found = list(list_entries(lines({"sessionId": "s", "projectHash": "p"}, message, resumed)))
    assert found == wanted


def test_what_gemini_rewound_is_no_longer_said() -> None:
    head = {"sessionId": "s", "projectHash": "p"}
    said = [{"id": n, "type": "user", "content": f"prompt {n}"} for n in "123"]
    assert list(list_entries(lines(head, *said, {"$rewindTo": "2"}))) == [("User", "prompt 1")]
    assert list(list_entries(lines(head, *said, {"$rewindTo": "?"}, said[2]))) == [
        ("User", "prompt 3")
    ]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"not json", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_transcript_says_nothing(data: bytes) -> None:
    assert list(list_entries(data)) == []


def test_lines_before_the_start_are_left_out_and_empty_ones_do_not_count() -> None:
    data = lines(user("a")) + b"\n" + b"broken\n" + lines(user("b"))
    assert list(list_entries(data, 1)) == [("User", "b")]
    assert list(list_entries(data, 2)) == [("User", "b")]
    assert list(list_entries(data, 3)) == []


def test_half_of_a_surrogate_pair_is_shown_as_a_replacement() -> None:
    assert list(list_entries(b'{"type":"user","message":{"content":"a\\ud800b"}}')) == [
        ("User", "a\ufffdb")
    ]
