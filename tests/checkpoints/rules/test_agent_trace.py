"""Agent Trace records: valid against the format's rules, and the same lines read back."""

from __future__ import annotations

import re
import uuid

import pytest

from gitcp.checkpoints.format import exports, line_authors
from tests.checkpoints.rules.test_git_ai import COMMIT, wrote
from tests.support.traces import parse_lines

LINES = {
    "a.py": {1: wrote(), 2: wrote(turn="t2", tool=None), 3: line_authors.build_nobody("person")}
}


def test_a_record_says_revision_time_tool_and_whose_the_lines_are() -> None:
    record = exports.build_record(COMMIT, "2005-04-01T11:14:15Z", LINES, "1.2.3")
    assert record is not None
    assert record["version"] == "0.1.0" and uuid.UUID(record["id"]).version == 5
    assert record["timestamp"] == "2005-04-01T11:14:15Z"
    assert record["vcs"] == {"type": "git", "revision": COMMIT}
    assert record["files"] == [
        {
            "path": "a.py",
            "conversations": [
                {
                    "url": "gitcp:a1b2c3d4e5f6/s1",
                    "contributor": {"type": "ai", "model_id": "anthropic/claude-opus-4"},
                    "ranges": [{"start_line": 1, "end_line": 2}],
                }
            ],
        }
    ]
    edits = record["metadata"]["dev.gitcp"]["edits"]
    assert [(e["turn_id"], e["tool_use_id"], e["lines"]) for e in edits] == [
        ("t1", "u1", "1"),
        ("t2", None, "2"),
    ]


def test_the_same_commit_gives_the_same_record_and_another_another_id() -> None:
    one = exports.build_record(COMMIT, "", LINES, "1")
    assert one == exports.build_record(COMMIT, "", LINES, "1")
    other = exports.build_record("0" * 40, "", LINES, "1")
    assert one and other and one["id"] != other["id"]


def test_reading_back_gives_the_same_lines() -> None:
    lines = {"a b": {1: wrote("s/1 ü"), 4: wrote("s2")}}
    record = exports.build_record(COMMIT, "", lines, "1")
    assert record is not None
    assert parse_lines(record) == {"a b": {1: "a1b2c3d4e5f6/s/1 ü", 4: "a1b2c3d4e5f6/s2"}}
    urls = [t["url"] for f in record["files"] for t in f["conversations"]]
    assert all(re.fullmatch(r"gitcp:[0-9a-f]{12}/[A-Za-z0-9%._~-]+", u) for u in urls)


def test_a_model_of_an_unknown_provider_is_not_guessed() -> None:
    assert exports.find_model_id("zq-9") == {} == exports.find_model_id("")
    assert exports.find_model_id("acme/zq-9") == {"model_id": "acme/zq-9"}
    assert exports.find_model_id("gpt-5") == {"model_id": "openai/gpt-5"}


def test_a_commit_without_a_sessions_line_has_no_record() -> None:
    assert (
        exports.build_record(COMMIT, "", {"a": {1: line_authors.build_nobody("unknown")}}, "1")
        is None
    )
    assert exports.build_record(COMMIT, "", {"latin\udce9": {1: wrote()}}, "1") is None


# The format as its specification has it (0.1.0), every format and bound on.
LINES_OF = {"type": "integer", "minimum": 1}
CONTRIBUTOR = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"enum": ["human", "ai", "mixed", "unknown"]},
        "model_id": {"type": "string", "maxLength": 250, "pattern": "^[^/]+/.+$"},
    },
}
RANGE = {
    "type": "object",
    "required": ["start_line", "end_line"],
    "properties": {
        "start_line": LINES_OF,
        "end_line": LINES_OF,
        "content_hash": {"type": "string"},
        "contributor": CONTRIBUTOR,
    },
}
CONVERSATION = {
    "type": "object",
    "required": ["ranges"],
    "properties": {
        "url": {"type": "string", "format": "uri"},
        "contributor": CONTRIBUTOR,
        "ranges": {"type": "array", "items": RANGE},
        "related": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "url"],
                "properties": {"url": {"type": "string", "format": "uri"}},
            },
        },
    },
}
SCHEMA = {
    "type": "object",
    "required": ["version", "id", "timestamp", "files"],
    "properties": {
        "version": {"const": "0.1.0"},
        "id": {"type": "string", "format": "uuid"},
        "timestamp": {"type": "string", "format": "date-time"},
        "vcs": {
            "type": "object",
            "required": ["type", "revision"],
            "properties": {"type": {"enum": ["git", "jj", "hg", "svn"]}},
        },
        "tool": {"type": "object", "properties": {"name": {"type": "string"}}},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "conversations"],
                "properties": {
                    "path": {"type": "string"},
                    "conversations": {"type": "array", "items": CONVERSATION},
                },
            },
        },
        "metadata": {
            "type": "object",
            "propertyNames": {"pattern": r"^[a-z0-9-]+(\.[a-z0-9-]+)+$"},
        },
    },
}


def faults(record: object) -> list[str]:
    from jsonschema import Draft202012Validator  # not by every worker: it takes seconds

    checker = Draft202012Validator.FORMAT_CHECKER
    assert {"uri", "uuid", "date-time"} <= set(checker.checkers)  # none is passed over silently
    return [
        e.message for e in Draft202012Validator(SCHEMA, format_checker=checker).iter_errors(record)
    ]


@pytest.mark.thorough
def test_every_record_is_valid_against_the_formats_schema() -> None:
    odd = wrote("s/1 ü%\udce9", model="zq-9" * 99)
    lines = {"a b": {1: wrote("s 1"), 2: odd}, "ü": {7: wrote(model="acme/" + "x" * 300)}}
    for given in (LINES, lines):
        record = exports.build_record(COMMIT, "2005-04-01T11:14:15Z", given, "1")
        assert record and faults(record) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("timestamp", "2005-04-01 11:14"),
        ("id", "7"),
        ("version", "1"),
        ("metadata", {"gitcp": {}}),
        ("files", [{"path": "a", "conversations": [{"url": "no url", "ranges": []}]}]),
        (
            "files",
            [{"path": "a", "conversations": [{"ranges": [{"start_line": 0, "end_line": 1}]}]}],
        ),
    ],
)
def test_the_schema_finds_what_is_not_valid(key: str, value: object) -> None:
    record = exports.build_record(COMMIT, "2005-04-01T11:14:15Z", LINES, "1")
    assert faults({**(record or {}), key: value})
