"""What the streams of a session have, as the lines of a journal tell."""

from __future__ import annotations

import pytest

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import JournalLine, build_edit, read_line

A: list[str] = ["100644", "a" * 40]


def put(stream: str, *paths: str, **more: object) -> JournalLine:
    files = dict.fromkeys(paths, A)
    line = {"stream": stream, "session": "s", "turn": "t", "files": files, "at": 1}
    return read_line({**line, **more})


def commit(*paths: str, **more: object) -> JournalLine:
    return read_line({"commit": "c" * 40, "settled": list(paths), "at": 2, **more})


Has = dict[str, list[str] | None]
CASES: dict[str, tuple[list[JournalLine], Has]] = {
    "nothing is recorded": ([commit("a")], {}),
    "a checkpoint without work": ([put("one")], {"one": []}),
    "two checkpoints": ([put("one", "a"), put("one", "b")], {"one": ["a", "b"]}),
    "another session's": ([put("one", "a", session="other")], {}),
    "a part is committed": ([put("one", "a", "b"), commit("a")], {"one": ["b"]}),
    "all is committed": ([put("one", "a"), commit("a")], {"one": None}),
    "a commit leaves some of it": (
        [put("one", "a"), commit("a", left={"a": [[1, ""]]})], {"one": ["a"]}),
    "an edit of it is taken, maybe another session's": (
        [put("one", "a"), read_line({"taken": {"a": [[1, ""]]}, "at": 2})], {"one": ["a"]}),
    "after a commit the same stream goes on": (
        [put("one", "a"), commit("a"), put("one", "b")], {"one": ["b"]}),
    "the next stream has it": (
        [put("one", "a"), put("two", "a", out={"one": ["a"]})], {"one": None, "two": ["a"]}),
    "it is undone": ([put("one", "a"), put("one", out={"one": ["a"]})], {"one": []}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_journal_tells_what_a_stream_has(name: str) -> None:
    lines, want = CASES[name]
    recorded = credit.map_recorded_files(credit.map_stream_lines(lines).get("s", []), "s")
    assert recorded == credit.map_recorded_files(lines, "s")
    has = {stream: files if files is None else sorted(files) for stream, files in recorded.items()}
    assert has == want


def edit(at: int, who: str = "s") -> JournalLine:
    return build_edit("a", None, (A[0], A[1]), (who, "t", ""), "tool", at)


BACK = put("one", out={"one": ["a"]}, at=3)
WITHDRAWN: dict[str, tuple[list[JournalLine], set[str]]] = {
    "it is committed": ([edit(1), put("one", "a"), commit("a")], set()),
    "it is taken back": ([edit(1), put("one", "a"), BACK], {"a"}),
    "another's commit of the path comes later": (
        [edit(1), put("one", "a"), BACK, commit("a")], {"a"}),
    "it is made again and committed": (
        [edit(1), put("one", "a"), BACK, edit(4), put("one", "a", at=5), commit("a")], set()),
    "the next stream has it": (
        [edit(1), put("one", "a"), put("two", "a", out={"one": ["a"]})], set()),
    "no line tells that it was taken back": ([edit(1), put("one", "a", at=2)], {"a"}),
    "a commit took the edit alone": (
        [edit(1), put("one", "a", at=2), read_line({"taken": {"a": [[1, A[1]]]}, "at": 3})], set()),
    "only another session's edit is open": ([edit(1, "other"), put("one", "a", at=2)], set()),
    "it is before the time": ([edit(0), put("one", "a", at=0), put("one", out={"one": ["a"]})],
        set()),
}  # fmt: skip


def list_withdrawn(lines: list[JournalLine], present: set[str]) -> set[str]:
    own_edits = [e for e in credit.list_open_edits(lines) if e.author[0] == "s"]
    stream_lines = credit.map_stream_lines(lines).get("s", [])
    return credit.list_withdrawn(stream_lines, own_edits, "s", "one", 1, lambda: present)


@pytest.mark.parametrize("name", WITHDRAWN)
def test_the_journal_tells_what_was_taken_back_before_a_commit(name: str) -> None:
    lines, want = WITHDRAWN[name]
    assert list_withdrawn(lines, set()) == want


def test_open_work_is_not_taken_back() -> None:
    lines = [edit(1), put("one", "a", at=2)]
    assert list_withdrawn(lines, {"a"}) == set()
