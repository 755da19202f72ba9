"""What a transcript alone proves of the lines of a commit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.agents import is_reading, name_call
from gitcp.agents.reading import conversation
from gitcp.agents.transcripts import agent_words
from gitcp.lines import proven

LINE, OTHER = "a line that tells", "another line that tells"


def transcript(*calls: Any) -> bytes:
    """Two prompts of Claude Code, and behind the second the calls, each of which went through."""
    entries: list[Any] = [
        {"type": "user", "message": {"role": "user", "content": text}} for text in ("one", "two")
    ]
    for n, given in enumerate(calls):
        use = {"type": "tool_use", "id": f"u{n}", "name": "Edit", "input": given}
        done = {"type": "tool_result", "tool_use_id": f"u{n}", "content": "ok"}
        entries.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        entries.append({"type": "user", "message": {"role": "user", "content": [done]}})
    return "\n".join(map(json.dumps, entries)).encode()


def patch(text: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n@@\n-old\n+{text}\n*** End Patch"


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "/w/f", "old_string": "old", "new_string": LINE},
        {"file_path": "/w/f", "edits": [{"old_string": "old", "new_string": LINE}]},
        {"input": patch(LINE)},
        patch(LINE),
    ],
)
def test_a_line_is_the_turn_s_whose_call_wrote_it(arguments: Any) -> None:
    record: Any = {"metadata": {"session_id": "s"}}
    blobs = {"oid": f"{OTHER}\n{LINE}\n".encode()}
    told = proven.add_proven_lines(record, transcript(arguments), {"f": "oid"}, blobs.get)
    assert told["lines"] == {"f": [{"oid": "oid", "ranges": [[2, 2, "prompt-2", "u0"]]}]}
    turns = {f"prompt-{n}": {"number": n, "prompt": text} for n, text in ((1, "one"), (2, "two"))}
    assert told["metadata"] == {"session_id": "s", "turns": turns}


@pytest.mark.parametrize("arguments", [None, 7, [LINE], "no patch", {"file_path": "/w/g"}])
def test_a_call_that_names_no_change_proves_nothing(arguments: Any) -> None:
    record: Any = {"metadata": {}}
    blobs = {"oid": f"{LINE}\n".encode()}
    told = proven.add_proven_lines(record, transcript(arguments), {"f": "oid"}, blobs.get)
    assert told["lines"] == {}


def test_only_lines_that_may_tell_are_parsed() -> None:
    parsed: list[bytes] = []

    def load(line: bytes) -> Any:
        parsed.append(line)
        return json.loads(line)

    paths = ("/w/a.c", "/w/main.c", "/w/b.c")
    edits = [{"file_path": path, "old_string": "old", "new_string": LINE} for path in paths]
    lines = [
        json.dumps(json.loads(x), separators=(",", ":")) for x in transcript(*edits).split(b"\n")
    ]
    spoken = '{"type":"user","message":{"role":"user","content":[%s]}}'
    result = '{"type":"tool_result","tool_use_id":"u9","content":"of another"}'
    lines += [spoken % result, spoken % f'{result},{{"type":"text","text":"three"}}']
    record: Any = {"metadata": {}}
    blobs = {"oid": f"{LINE}\n".encode()}
    told = proven.add_proven_lines(
        record, "\n".join(lines).encode(), {"main.c": "oid"}, blobs.get, load
    )
    assert told["lines"] == {"main.c": [{"oid": "oid", "ranges": [[1, 1, "prompt-2", "u1"]]}]}
    assert [turn["prompt"] for turn in told["metadata"]["turns"].values()] == [
        "one",
        "two",
        "three",
    ]
    named = b'"file_path":"/w/main.c"', b'"tool_use_id":"u1"', b'"one"', b'"two"', b'"three"'
    assert all(any(name in line for name in named) for line in parsed)


def test_a_path_that_json_may_spell_otherwise_is_found() -> None:
    arguments = {"file_path": '/w/ä"f', "old_string": "old", "new_string": LINE}
    record: Any = {"metadata": {}}
    blobs = {"oid": f"{LINE}\n".encode()}
    told = proven.add_proven_lines(record, transcript(arguments), {'ä"f': "oid"}, blobs.get)
    assert told["lines"] == {'ä"f': [{"oid": "oid", "ranges": [[1, 1, "prompt-2", "u0"]]}]}


TEXT = f"{LINE}\n}}\n\n{OTHER}"


@pytest.mark.parametrize(
    ("old", "content", "beside"),
    [
        ("old", f"}}\n\n{TEXT}\n}}\n", [4, 5]),
        ("old", f"}}\n{LINE}\n}}\nother\n\n{OTHER}\n", [3, 5]),
        ("old\n}", f"}}\n\n{TEXT}\n", [5]),
        ("old", f"{TEXT}\n", []),
    ],
)
def test_a_line_is_proven_beside_another_of_its_edit(
    old: str, content: str, beside: list[int]
) -> None:
    """Those that an edit found there, and where the file has gone on otherwise, are not."""
    record: Any = {"metadata": {}}
    edit = {"file_path": "/w/f", "old_string": old, "new_string": TEXT}
    blobs = {"oid": f"same\n\n}}\n{content}".encode() if not beside else content.encode()}
    told = proven.add_proven_lines(record, transcript(edit), {"f": "oid"}, blobs.get)
    assert told["lines"]
    (entry,) = told["lines"]["f"]
    found = [first for first, *_ in entry.get("beside", ())]
    assert found == (beside or [5, 6])


def test_what_two_sessions_claim_is_nobodys() -> None:
    def record(*beside: int, proved: int) -> Any:
        rows = [[n, n, "t", "u"] for n in beside]
        return {"lines": {"f": [{"ranges": [[proved, proved, "t", "u"]], "beside": rows}]}}

    one, two = proven.drop_contested_lines([record(2, 3, proved=1), record(3, proved=2)])
    assert one["lines"] and two["lines"]
    assert one["lines"]["f"] == [{"ranges": [[1, 1, "t", "u"]], "beside": []}]
    assert two["lines"]["f"] == [{"ranges": [[2, 2, "t", "u"]], "beside": []}]


def test_a_call_whose_id_was_redacted_is_named_by_its_input() -> None:
    read = {"file_path": "/w/f"}
    written = {"file_path": "/w/f", "old_string": "old", "new_string": LINE}
    text = transcript(read, written).replace(b'"u0"', b'"REDACTED"').replace(b'"u1"', b'"REDACTED"')
    record: Any = {"metadata": {}}
    blobs = {"oid": f"{LINE}\n".encode()}
    told = proven.add_proven_lines(record, text, {"f": "oid"}, blobs.get)
    name = name_call(written)
    assert told["lines"] == {"f": [{"oid": "oid", "ranges": [[1, 1, "prompt-2", name]]}]}
    call = conversation.find_call([text], {}, name)
    assert call is not None and call["given"] == written


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("Glob", True),
        ("glob", True),
        ("TodoWrite", True),
        ("Edit", False),
        ("Bash", False),
        ("mcp__files__put", False),
        ("", False),
    ],
)
def test_a_tool_that_only_reads_makes_no_edit(tool: str, expected: bool) -> None:
    assert is_reading(tool) == expected


def test_each_word_by_which_an_edit_is_known_has_its_mark() -> None:
    for word in (*agent_words.OLD, agent_words.CREATED, agent_words.PATCH):
        assert agent_words.may_have_edit(word.encode()), word
    assert not agent_words.may_have_edit(b'{"file_path": "f", "content": "old str"}')
