"""Git AI's authorship logs: made, read and united."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from gitcp.checkpoints.format import exports, line_authors

if TYPE_CHECKING:
    from gitcp.checkpoints.format.line_authors import Author

COMMIT = "f" * 40


def wrote(
    session: str = "s1", turn: str = "t1", tool: str | None = "u1", model: str = "claude-opus-4"
) -> Author:
    author = line_authors.build_nobody("session")
    author |= {"session_id": session, "agent": "Claude Code", "model": model}
    author |= {"turn_id": turn, "tool_use_id": tool, "checkpoint_id": "a1b2c3d4e5f6"}
    return author


def digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:14]


def test_a_log_has_a_path_its_keys_with_ranges_a_divider_and_json() -> None:
    lines = {"a b.py": {1: wrote(), 2: wrote(), 4: wrote(), 5: line_authors.build_nobody("person")}}
    text = exports.format_log(exports.build_log(COMMIT, lines, "A <a@x>"))
    key = f"s_{digits('claude:s1')}::t_{digits('s1' + chr(0) + 'u1')}"
    head, tail = text.split("\n---\n")
    assert head == f'"a b.py"\n  {key} 1-2,4'
    assert json.loads(tail) == {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": COMMIT,
        "prompts": {},
        "sessions": {
            key.split("::", maxsplit=1)[0]: {
                "agent_id": {"tool": "claude", "id": "s1", "model": "claude-opus-4"},
                "human_author": "A <a@x>",
                "custom_attributes": {"gitcp.edits": key.rpartition(":")[2]},
            }
        },
    }


def test_reading_back_gives_the_same_lines() -> None:
    lines = {"x": {3: wrote(tool=None), 1: wrote("s2")}, "dir/y": {7: wrote(turn="t2")}}
    made = exports.build_log(COMMIT, lines)
    read = exports.parse_log(exports.format_log(made))
    assert read == made
    assert read_authors(read, "x") == {1: ("s2", "claude-opus-4"), 3: ("s1", "claude-opus-4")}
    assert exports.find_authors(read, "0" * 40, "x") == {}  # a copy on another commit


def read_authors(log: exports.Log, path: str) -> dict[int, tuple[str, str]]:
    named = exports.find_authors(log, COMMIT, path)
    authors = {line: author for line, author in named.items() if author["who"] == "session"}
    assert {author["agent"] for author in authors.values()} <= {"Claude Code"}
    return {line: (author["session_id"], author["model"]) for line, author in authors.items()}


def test_keys_of_before_version_1_4_are_read_and_of_persons_no_session_is_named() -> None:
    about = {"agent_id": {"tool": "claude", "id": "old", "model": "unknown"}}
    metadata = {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": COMMIT,
        "prompts": {"0123456789abcdef": about},
        "humans": {"h_11111111111111": {"author": "P"}},
    }
    rows = "x\n  0123456789abcdef 1-2\n  h_11111111111111 3\n  s_gone::t_gone 4"
    read = exports.parse_log(f"{rows}\n---\n{json.dumps(metadata)}")
    assert read is not None
    assert read_authors(read, "x") == {1: ("old", ""), 2: ("old", "")}
    assert exports.find_authors(read, COMMIT, "x")[3] == line_authors.build_nobody("person")
    assert 4 not in exports.find_authors(read, COMMIT, "x")


def test_a_persons_lines_alone_make_no_log() -> None:
    assert (
        exports.format_log(
            exports.build_log(COMMIT, {"x": {1: line_authors.build_nobody("person")}})
        )
        == ""
    )


@pytest.mark.parametrize("path", ['q"uote', "two\nlines", "latin\udce9", "", "cr\r"])
def test_a_path_the_format_cannot_carry_is_left_out(path: str) -> None:
    assert not exports.can_name(path)
    assert exports.build_log(COMMIT, {path: {1: wrote()}, "ok": {1: wrote()}})[
        "attested"
    ].keys() == {"ok"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no divider",
        "x\n  k 1\n---\nnot json",
        'x\n  k 1\n---\n{"schema_version": "authorship/2"}',
        '  k 1\n---\n{"schema_version": "authorship/3.0.0"}',
        'x\n  k 0\n---\n{"schema_version": "authorship/3.0.0"}',
        'x\n  k 5-3\n---\n{"schema_version": "authorship/3.0.0"}',
        'x\n  k 1-99999999999\n---\n{"schema_version": "authorship/3.0.0"}',
        f'x\n  k {"1" * 5000}\n---\n{{"schema_version": "authorship/3.0.0"}}',
        'x\n  k 1-1000000,2000001-3000000\n---\n{"schema_version": "authorship/3.0.0"}',
        "x\n---\n" + "[" * 100_000,
    ],
)
def test_what_is_no_log_of_this_version_is_not_read(text: str) -> None:
    assert exports.parse_log(text) is None
