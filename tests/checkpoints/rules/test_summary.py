from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.checkpoints import format

ID = "a1b2c3d4e5f6"
ROOT = {"strategy": "manual-commit", "branch": "main"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "subagent_tokens": {"input_tokens": 50}}


def test_json_is_laid_out_as_the_original_does() -> None:
    made = format.dump_json({"a": "x && <y>", "b": ["é"], "c": None})
    assert made == (
        b'{\n  "a": "x \\u0026\\u0026 \\u003cy\\u003e",\n  "b": [\n    "\xc3\xa9"\n  ],\n'
        b'  "c": null\n}\n'
    )


def test_a_path_that_is_not_utf8_survives_writing_and_reading() -> None:
    path = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert format.parse_json(format.dump_json({"files_touched": [path]})) == {
        "files_touched": [path]
    }


@pytest.mark.parametrize("data", [None, b"", b"{", b"[1]", b"\xff\xfe", b'"x"'])
def test_what_is_not_an_object_is_read_as_nothing(data: bytes | None) -> None:
    assert format.parse_json(data) is None


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        ({"steps_count": 4}, "checkpoints_count", 4),
        ({"transcript_uuid_at_start": "u"}, "transcript_identifier_at_start", "u"),
        ({"transcript_lines_at_start": 7}, "checkpoint_transcript_start", 7),
        ({"agents": ["Claude Code", "x"]}, "agent", "Claude Code"),
        ({"files_touched": None}, "files_touched", []),
        ({}, "files_touched", []),
        ({"unknown": {"kept": 1}}, "unknown", {"kept": 1}),
    ],
)
def test_every_variation_is_read_under_its_present_key(
    record: dict[str, Any], key: str, value: object
) -> None:
    assert format.upgrade_metadata(record)[key] == value


@pytest.mark.parametrize("more", [0, 1])
def test_what_is_nested_too_deep_is_read_as_nothing(more: int) -> None:
    depth = format._DEEPEST - 1 + more  # lists, in an object
    data = b'{"a": %s%s, "b": [], "c": "[[["}' % (b"[" * depth, b"]" * depth)
    assert (format.parse_json(data) is None) == bool(more)


def test_a_value_of_a_wrong_type_is_not_handed_on() -> None:
    assert "branch" not in format.upgrade_metadata({"branch": 7})


def test_writing_a_session_again_keeps_what_only_the_old_metadata_says() -> None:
    old = {
        "created_at": "1",
        "summary": {"intent": "x"},
        "files_touched": ["a"],
        "files": {"a": 1},
        "agent": "A",
    }
    new = {"created_at": "2", "files_touched": ["b"], "files": {"b": 2}, "agent": "B"}
    assert format.merge_metadata(old, new) == {
        "created_at": "1",
        "checkpoints_count": 0,
        "files_touched": ["a", "b"],
        "agent": "B",
        "summary": {"intent": "x"},
        "files": {"a": 1, "b": 2},
    }


@pytest.mark.parametrize(
    ("old", "new", "files"),
    [
        ({"files": {"a": 1}}, {"files": {"a": 2}}, {"a": 2}),
        ({"files": {"a": 1}}, {}, {"a": 1}),
        ({"files": "damaged"}, {"files": {"b": 2}}, {"b": 2}),
        ({"files": {"a": 1}}, {"files": None}, None),
        ({"files": {"a": 1}}, {"files": ["of", "another", "kind"]}, ["of", "another", "kind"]),
        (None, {"files": {"b": 2}}, {"b": 2}),
    ],
)
def test_the_files_of_both_writings_are_united_where_both_have_a_table(
    old: dict[str, Any] | None, new: dict[str, Any], files: object
) -> None:
    assert format.merge_metadata(old, new).get("files") == files


@pytest.mark.parametrize(
    ("files", "transcript"),
    [
        (["full.jsonl"], "full.jsonl"),
        (["full.log"], "full.log"),
        (["full.jsonl", "full.log"], "full.jsonl"),
        ([], ""),
    ],
)
def test_the_transcript_is_named_full_log_only_where_nothing_newer_is(
    files: list[str], transcript: str
) -> None:
    where = f"/a1/b2c3d4e5f6/3/{transcript}" if transcript else ""
    assert format.build_paths(ID, 3, files)["transcript"] == where


def test_what_has_its_present_key_is_not_read_under_its_former_one() -> None:
    given = {
        "checkpoints_count": 1,
        "steps_count": 4,
        "checkpoint_transcript_start": 2,
        "transcript_lines_at_start": 7,
        "agent": "Codex",
        "agents": ["Claude Code"],
    }
    read = format.upgrade_metadata(given)
    assert (read["checkpoints_count"], read["agent"]) == (1, "Codex")
    assert read["checkpoint_transcript_start"] == 2
    assert "agent" not in format.upgrade_metadata({"agents": []})


def test_a_summary_written_again_keeps_its_strategy_and_what_it_counted() -> None:
    old = {"strategy": "auto-commit", "checkpoints_count": 3, "files_touched": ["old"]}
    again = format.summarize(ID, old, [({"strategy": "manual-commit"}, [])])
    assert (again["strategy"], again["checkpoints_count"]) == ("auto-commit", 3)
    assert again["files_touched"] == ["old"]
    assert format.summarize(ID, old, [({"checkpoints_count": 5}, [])])["checkpoints_count"] == 5
    assert format.summarize(ID, None, [({}, [])])["checkpoints_count"] == 0


@pytest.mark.parametrize(("size", "cut"), [(500, False), (501, True)])
def test_a_prompt_of_500_bytes_is_not_cut_in_the_context(size: int, cut: bool) -> None:
    text = format.build_context(["x" * size]).rpartition("\n\n")[2]
    assert text == ("x" * 500 + "..." if cut else "x" * size)


def test_the_summary_counts_and_unites_its_sessions() -> None:
    session = {"strategy": "manual-commit", "branch": "main", "checkpoints_count": 2}
    sessions: list[format.Session] = [
        (
            {**session, "files_touched": ["b"], "token_usage": USAGE},
            ["metadata.json", "full.jsonl"],
        ),
        ({**session, "files_touched": ["a"], "token_usage": USAGE}, ["metadata.json"]),
        (None, []),
    ]
    made = format.summarize(ID, {"migration_source_commit": "kept", **ROOT}, sessions)
    assert list(made) == [
        "checkpoint_id",
        "strategy",
        "branch",
        "checkpoints_count",
        "files_touched",
        "sessions",
        "token_usage",
        "migration_source_commit",
    ]
    assert made["checkpoints_count"] == 4
    assert made["files_touched"] == ["a", "b"]
    assert made["token_usage"]["input_tokens"] == 2
    assert "subagent_tokens" not in made["token_usage"]
    assert made["sessions"][0]["transcript"] == "/a1/b2c3d4e5f6/0/full.jsonl"
    assert made["sessions"][1] == {
        "metadata": "/a1/b2c3d4e5f6/1/metadata.json",
        "transcript": "",
        "context": "",
        "content_hash": "",
        "prompt": "",
    }


def test_the_context_cuts_a_long_prompt_between_characters() -> None:
    text = format.build_context(["short", "é" * 400])
    assert text.startswith("# Session Context\n\n## User Prompts\n\n### Prompt 1\n\nshort\n\n###")
    assert text.endswith("é" * 250 + "...")


def test_metadata_keys_stand_in_the_originals_order() -> None:
    made = format.merge_metadata(
        None, {"files": {}, "agent": "A", "session_id": "s", "checkpoint_id": ID}
    )
    keys = ["checkpoint_id", "session_id", "checkpoints_count", "files_touched", "agent", "files"]
    assert list(json.loads(format.dump_json(made))) == keys


def test_a_new_summary_takes_strategy_and_branch_from_its_sessions() -> None:
    made = format.summarize(ID, None, [(None, []), ({**ROOT, "cli_version": "1"}, [])])
    assert (made["strategy"], made["branch"], made["cli_version"]) == ("manual-commit", "main", "1")


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[1]", b'"user"', b'{"content": "x"}', b'{"type": "system"}', b"[" * 100_000],
    ids=["empty", "cut", "a list", "a string", "no type", "of nobody", "too deep"],
)
def test_a_compact_line_that_nobody_said_is_left_out(line: bytes) -> None:
    said = b'{"type": "user", "content": "x", "ts": "2026-01-01T00:00:00Z"}'
    expanded = format.expand_lines(line + b"\n" + said)
    assert [json.loads(row) for row in expanded.splitlines()] == [
        {
            "type": "user",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "user", "content": "x"},
        }
    ]
