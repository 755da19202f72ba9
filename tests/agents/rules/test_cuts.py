"""Transcripts of real clients, cut: what the model would be sent is what it was sent then."""

from __future__ import annotations

import json
from typing import Any

from gitcp.agents.claude_code import cut as cut_claude
from gitcp.agents.codex import cut as cut_codex
from gitcp.agents.gemini_cli import cut as cut_gemini
from gitcp.agents.reading import conversation
from tests.support.paths import DATA

LATE: dict[str, Any] = {
    "claude-code/resume": cut_claude,
    "codex/resume": cut_codex,
    "gemini-cli/resume": cut_gemini,
}
CALLS = (b'"tool_use"', b'"custom_tool_call"', b'"toolCalls"')
OLD, NEW = "old-id", "33333333-cccc-4a87-9186-848bdd83d62e"


def transcript(name: str) -> bytes:
    return (DATA / "recordings" / name / "transcript.jsonl").read_bytes()


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def claude(*entries: tuple[str, str, str | None, object]) -> bytes:
    """(kind, uuid, parent, content) of each line of a transcript."""
    told = [
        {
            "type": kind,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": OLD,
            "message": {"role": kind, "content": content, "id": f"m-{uuid[0]}"},
        }
        for kind, uuid, parent, content in entries
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in told)


def cut(data: bytes, leaf: str, redacted: bool = False) -> tuple[list[str], list[str]]:
    """(the uuids that are kept, the notes)."""
    found, notes = cut_claude.cut_conversation(data, leaf, OLD, NEW, redacted)
    return [line["uuid"] for line in lines(found) if "uuid" in line], notes


def test_turns_that_were_abandoned_in_the_client_do_not_note_return() -> None:
    data = claude(
        ("user", "a1", None, "one"),
        ("assistant", "b1", "a1", "first answer"),
        ("user", "c1", "b1", "abandoned"),
        ("assistant", "d1", "c1", "abandoned too"),
        ("user", "e1", "b1", "instead"),
        ("assistant", "f1", "e1", "second answer"),
        ("user", "g1", "f1", "later"),
    )
    assert cut(data, "f1")[0] == ["a1", "b1", "e1", "f1"]
    assert cut(data, "b1")[0] == ["a1", "b1"]


def test_calls_made_at_once_keep_all_their_results() -> None:
    data = transcript("claude-code/parallel")
    whole = [line for line in lines(data) if "uuid" in line]
    leaf = next(line["uuid"] for line in reversed(whole) if line["type"] == "assistant")
    kept, _ = cut(data, leaf)
    calls = [b["id"] for line in whole for b in content(line) if b.get("type") == "tool_use"]
    results = [
        b["tool_use_id"]
        for line in whole
        if line["uuid"] in kept
        for b in content(line)
        if b.get("type") == "tool_result"
    ]
    assert sorted(results) == sorted(calls)
    assert len(calls) > 4


def content(line: dict[str, Any]) -> list[dict[str, Any]]:
    told = (line.get("message") or {}).get("content")
    return told if isinstance(told, list) else []


def test_a_cut_after_a_compaction_has_its_summary_and_one_within_goes_before_it() -> None:
    data = transcript("claude-code/compact")
    found = [line for line in lines(data) if "uuid" in line]
    boundary = next(line for line in found if line.get("subtype") == "compact_boundary")
    summary = next(line for line in found if line.get("isCompactSummary"))
    kept, _ = cut(data, found[-1]["uuid"])
    assert {boundary["uuid"], summary["uuid"]} <= set(kept)
    before, _ = cut(data, boundary["uuid"])
    assert boundary["uuid"] not in before
    assert found[0]["uuid"] in before


def test_what_the_agent_says_after_its_stop_belongs_to_the_turn() -> None:
    data = claude(
        ("user", "a1", None, "one"),
        ("assistant", "b1", "a1", "half"),
        ("assistant", "b2", "b1", "the rest, flushed late"),
        ("user", "c1", "b2", "two"),
    )
    assert cut(data, "b1")[0] == ["a1", "b1", "b2"]


def test_a_turn_is_whole_wherever_in_it_a_client_was_with_its_writing() -> None:
    """The clients' own writing is late: after a Stop a turn may lack more than its last words."""
    for name, cutter in LATE.items():
        data = transcript(name)
        rows = data.splitlines(keepends=True)
        second = next(n for n, row in enumerate(rows) if b"Second prompt" in row)
        end = max(n for n, row in enumerate(rows[:second]) if b"All done: first" in row)
        first = next(n for n, row in enumerate(rows) if any(mark in row for mark in CALLS))
        whole = cutter.cut_conversation(
            data, cutter.find_last_leaf(b"".join(rows[: end + 1])), OLD, NEW, False
        )[0]
        assert b"All done: first" in whole
        assert b"Second prompt" not in whole
        for n in range(first + 1, end + 1):
            leaf = cutter.find_last_leaf(b"".join(rows[:n]))
            assert cutter.cut_conversation(data, leaf, OLD, NEW, False)[0] == whole, (name, n)


def test_a_turn_ends_where_a_hook_or_the_person_speaks_and_not_with_a_skill() -> None:
    entries = (
        ("user", "a1", None, "one"),
        ("assistant", "b1", "a1", [{"type": "tool_use", "id": "t1"}]),
        ("user", "c1", "b1", [{"type": "tool_result", "tool_use_id": "t1"}]),
        ("user", "d1", "c1", "what the skill says"),
        ("assistant", "e1", "d1", "answer"),
        ("user", "f1", "e1", "feedback of a hook"),
        ("assistant", "g1", "f1", "more"),
    )
    told = lines(claude(*entries))
    told[3] |= {"isMeta": True, "sourceToolUseID": "t1"}
    told[5] |= {"isMeta": True}
    data = b"".join(json.dumps(line).encode() + b"\n" for line in told)
    assert cut(data, "b1")[0] == ["a1", "b1", "c1", "d1", "e1"]


def test_a_diverged_rollout_is_not_cut_and_one_without_its_reasoning_is() -> None:
    def row(second: int, kind: str, **more: object) -> bytes:
        item = {"type": kind, **more}
        told = {"timestamp": f"2026-01-01T00:00:0{second}Z", "payload": item}
        return json.dumps(told).encode() + b"\n"

    thought = row(1, "reasoning", encrypted_content="x")
    start, said, end = row(0, "task_started"), row(2, "message"), row(3, "task_complete")
    leaf = cut_codex.find_last_leaf(start + thought + said)
    for copy in (start + thought + said + end, start + said + end):
        assert cut_codex.cut_conversation(copy, leaf, OLD, NEW, False)[0] == copy
    other = start + thought + row(5, "message") + end
    assert cut_codex.cut_conversation(other, leaf, OLD, NEW, False)[0] == b""


def test_every_line_names_the_new_id_and_nothing_the_old_one() -> None:
    data = transcript("claude-code/tui")
    old = lines(data)[0]["sessionId"]
    found, _ = cut_claude.cut_conversation(data, cut_claude.find_last_leaf(data), old, NEW, False)
    assert {line["sessionId"] for line in lines(found) if "sessionId" in line} == {NEW}
    assert old.encode() not in found.replace(b"/projects/", b"")


def test_a_redacted_copy_loses_its_signed_thinking_and_says_so() -> None:
    data = claude(
        ("user", "a1", None, "one"),
        ("assistant", "b1", "a1", [{"type": "thinking", "thinking": "REDACTED", "signature": "s"}]),
        ("assistant", "b2", "b1", [{"type": "text", "text": "answer"}]),
        ("user", "c1", "b2", "two"),
        ("assistant", "d1", "c1", [{"type": "redacted_thinking"}, {"type": "text", "text": "b"}]),
    )
    found, notes = cut_claude.cut_conversation(data, "d1", OLD, NEW, True)
    assert b"thinking" not in found
    assert notes == ["2 thinking blocks are left out: redaction broke their signature"]
    parents = {line["uuid"]: line["parentUuid"] for line in lines(found)}
    assert parents == {"a1": None, "b2": "a1", "c1": "b2", "d1": "c1"}
    assert cut_claude.cut_conversation(data, "d1", OLD, NEW, False)[1] == []


def test_lines_that_name_no_parent_follow_on_each_other() -> None:
    told = [{"type": "user", "uuid": f"u{n}", "message": {"content": str(n)}} for n in range(4)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in told)
    assert cut(data, "u2")[0] == ["u0", "u1", "u2"]


def test_a_leaf_that_is_not_there_cuts_nothing() -> None:
    for cutter in (cut_claude, cut_codex, cut_gemini):
        assert (
            cutter.cut_conversation(
                b"", "x" if cutter is not cut_codex else "3 x", OLD, NEW, False
            )[0]
            == b""
        )


def test_a_rollout_of_codex_ends_with_its_turn_and_has_the_new_id() -> None:
    data = transcript("codex/resume")
    old = lines(data)[0]["payload"]["id"]
    leaf = cut_codex.find_last_leaf(b"\n".join(data.splitlines()[:28]))
    found, notes = cut_codex.cut_conversation(data, leaf, old, NEW, False)
    assert lines(found)[-1]["payload"]["type"] == "task_complete"
    assert lines(found)[-1]["ordinal"] == 30
    assert lines(found)[0]["payload"]["id"] == NEW
    assert (old.encode() in found, notes) == (False, [])
    said = [text for role, text in conversation.list_entries(found) if role == "User"]
    assert said == ["Create hello.py and edit README.md"] or "Second prompt please" not in said


def test_reasoning_that_redaction_broke_is_left_out_of_a_rollout() -> None:
    item = {"type": "reasoning", "encrypted_content": "REDACTED"}
    line = json.dumps({"type": "response_item", "ordinal": 1, "payload": item}).encode()
    data = line + b"\n" + b'{"ordinal":2}\n'
    found, notes = cut_codex.cut_conversation(data, cut_codex.find_last_leaf(data), OLD, NEW, True)
    assert lines(found) == [{"ordinal": 2}]
    assert notes == ["1 items of reasoning are left out: redaction broke their encryption"]


def test_a_conversation_of_gemini_ends_where_the_person_speaks_next() -> None:
    data = transcript("gemini-cli/resume")
    found, _ = cut_gemini.cut_conversation(
        data, "c7a2bd07-bd77-46eb-ac93-cfe2e90dd08b", OLD, NEW, False
    )
    assert lines(found)[0]["sessionId"] == NEW
    said = [text for role, text in conversation.list_entries(found) if role == "User"]
    assert [text for text in said if "Second prompt" in text] == []
    assert b"All done: first prompt" in found


def test_an_older_document_of_gemini_is_cut_at_its_message() -> None:
    messages = [
        {"id": "1", "type": "user", "content": "one"},
        {"id": "2", "type": "gemini", "content": "a"},
        {"id": "3", "type": "user", "content": "two"},
    ]
    data = json.dumps({"sessionId": OLD, "messages": messages, "kept": True}).encode()
    found, _ = cut_gemini.cut_conversation(data, "2", OLD, NEW, False)
    assert json.loads(found) == {"sessionId": NEW, "messages": messages[:2], "kept": True}
    assert cut_gemini.find_last_leaf(data) == "3"
