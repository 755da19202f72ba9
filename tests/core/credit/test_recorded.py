"""What the streams of a session have, as the lines of a journal tell."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.core.credit import entries

A: list[str] = ["100644", "a" * 40]


def put(stream: str, *paths: str, **more: object) -> dict[str, Any]:
    files = dict.fromkeys(paths, A)
    return {"stream": stream, "session": "s", "turn": "t", "files": files, "at": 1, **more}


def commit(*paths: str, **more: object) -> dict[str, Any]:
    return {"commit": "c" * 40, "settled": list(paths), "at": 2, **more}


Has = dict[str, list[str] | None]
CASES: dict[str, tuple[list[dict[str, Any]], Has]] = {
    "nothing is recorded": ([commit("a")], {}),
    "a checkpoint without work": ([put("one")], {"one": []}),
    "two checkpoints": ([put("one", "a"), put("one", "b")], {"one": ["a", "b"]}),
    "another session's": ([put("one", "a", session="other")], {}),
    "a part is committed": ([put("one", "a", "b"), commit("a")], {"one": ["b"]}),
    "all is committed": ([put("one", "a"), commit("a")], {"one": None}),
    "a commit leaves some of it": (
        [put("one", "a"), commit("a", left={"a": [[1, ""]]})], {"one": ["a"]}),
    "an edit of it is taken, maybe another session's": (
        [put("one", "a"), {"taken": {"a": [[1, ""]]}, "at": 2}], {"one": ["a"]}),
    "after a commit the same stream goes on": (
        [put("one", "a"), commit("a"), put("one", "b")], {"one": ["b"]}),
    "the next stream has it": (
        [put("one", "a"), put("two", "a", out={"one": ["a"]})], {"one": None, "two": ["a"]}),
    "it is undone": ([put("one", "a"), put("one", out={"one": ["a"]})], {"one": []}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_journal_tells_what_a_stream_has(name: str) -> None:
    lines, want = CASES[name]
    recorded = entries.map_recorded_files(lines, "s")
    has = {stream: files if files is None else sorted(files) for stream, files in recorded.items()}
    assert has == want
