"""Authorship logs of one commit made into one: whose the lines stay, whatever came first."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from gitcp.checkpoints.format import exports
from tests.checkpoints.rules.test_git_ai import COMMIT, digits, wrote

AMP = "s_00000000000000"
OURS = f"s_{digits('claude:s1')}"


def theirs(rows: str, session: str = AMP, **more: Any) -> bytes:
    sessions = {session: {"agent_id": {"tool": "amp", "id": "i", "model": "m"}, **more}}
    metadata = {"schema_version": exports.NOTE_VERSION, "base_commit_sha": COMMIT, "prompts": {}}
    return f"x\n{rows}\n---\n{json.dumps({**metadata, 'sessions': sessions})}\n".encode()


def ours(*lines: int, tool: str = "u1") -> bytes:
    return exports.format_log(
        exports.build_log(COMMIT, {"x": {n: wrote(tool=tool) for n in lines}})
    ).encode()


def log(text: bytes) -> exports.Log:
    read = exports.parse_log(text.decode())
    assert read is not None
    return read


def united(mine: bytes, note: bytes) -> bytes:
    made = exports.format_log(exports.unite_logs(log(mine), log(note)))
    assert made.count("\n---\n") == 1
    return made.encode()


def rows(text: bytes) -> dict[str, list[int]]:
    """key's session -> its lines."""
    row = log(text)["attested"].get("x", {})
    return {key.partition("::")[0]: sorted(lines) for key, lines in row.items()}


def test_a_line_that_another_tool_attests_stays_its_and_exporting_again_changes_nothing() -> None:
    both = united(ours(2, 3, 9), theirs(f"  {AMP}::t_1 1-2\n  h_11111111111111 9"))
    assert rows(both) == {AMP: [1, 2], "h_11111111111111": [9], OURS: [3]}
    assert set(log(both)["metadata"]["sessions"]) == {AMP, OURS}
    assert united(ours(2, 3, 9), both) == both


def test_what_we_attested_before_and_do_not_now_goes() -> None:
    before = united(ours(2, 3, tool="old"), theirs(f"  {AMP}::t_1 1"))
    assert rows(united(ours(3), before)) == {AMP: [1], OURS: [3]}
    gone = exports.unite_logs(exports.build_log(COMMIT, {}), log(before))
    assert rows(exports.format_log(gone).encode()) == {AMP: [1]}
    assert set(gone["metadata"]["sessions"]) == {AMP}


def test_another_tool_may_attest_lines_to_a_session_that_is_ours_too() -> None:
    both = united(ours(2, 3), theirs(f"  {OURS}::t_99999999999999 1-2", OURS))
    lines = log(both)["attested"]["x"]
    assert sorted(map(sorted, lines.values())) == [[1, 2], [3]]
    assert united(ours(2, 3), both) == both
    left = exports.unite_logs(exports.build_log(COMMIT, {}), log(both))
    assert [*map(sorted, left["attested"]["x"].values())] == [[1, 2]]


def test_two_notes_make_one_whichever_comes_first() -> None:
    notes = (
        ours(1, 2, 3),
        ours(3, 4, tool="u2"),
        theirs(f"  {AMP}::t_1 2"),
        theirs("  s_11111111111111::t_2 2-5", "s_11111111111111"),
        united(ours(7), theirs(f"  {AMP}::t_1 8")),
    )
    for a, b in itertools.combinations(notes, 2):
        made = exports.merge_notes(a, b)
        assert made == exports.merge_notes(b, a)
        assert exports.merge_notes(made, a) == made == exports.merge_notes(made, b)
        assert made.count(b"\n---\n") == 1
    assert rows(exports.merge_notes(notes[0], notes[2])) == {AMP: [2], OURS: [1, 3]}


@pytest.mark.parametrize("other", [b"a word of mine\n", b"x\n  k 1\n---\n{}", b"\xff"])
def test_what_is_no_log_is_left_as_it_is(other: bytes) -> None:
    assert exports.merge_notes(ours(1), other) == other == exports.merge_notes(other, ours(1))
    assert exports.merge_notes(b"a\n", b"bc\n") == b"bc\n"
