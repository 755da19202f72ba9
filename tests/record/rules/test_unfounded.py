"""Which commits were linked by nothing but edits that were taken back."""

from __future__ import annotations

import pytest

from gitcp.record.journal import credit, cuts
from gitcp.record.journal.line_kinds import JournalLine, build_edit, read_line


def edit(path: str, at: int, how: str = "window", call: str = "c") -> JournalLine:
    return build_edit(path, None, ("100644", f"{at:040}"), ("s", "t", call), how, at)


def commit(oid: str, at: int, *paths: str, **more: object) -> JournalLine:
    return read_line({"commit": oid, "settled": [*paths], "at": at, **more})


@pytest.mark.parametrize(
    ("lines", "unfounded"),
    [
        ([edit("f", 15), commit("c1", 16, "f")], {"c1": {"f"}}),
        ([edit("f", 15), edit("g", 15), commit("c1", 16, "f", "g")], {"c1": {"f", "g"}}),
        ([edit("f", 15), edit("g", 5, "tool", "b"), commit("c1", 16, "f", "g")], {}),
        ([edit("f", 15), commit("c1", 16, "g")], {}),
        ([edit("f", 25), commit("c1", 26, "f")], {}),
        ([edit("f", 5, "tool", "b"), commit("c1", 6, "f"), edit("f", 15), commit("c2", 16, "f")],
         {"c2": {"f"}}),
        ([edit("f", 15), edit("g", 5, "tool", "b"), commit("c1", 16, "f"),
          commit("c1", 17, taken={"g": [[5, f"{5:040}"]]})], {}),
    ],
    ids=["one", "two", "beside another call's", "not in it", "in the call", "the later one",
         "in two lines"],
)  # fmt: skip
def test_a_commit_is_unfounded_if_all_of_the_sessions_edits_in_it_were_taken_back(
    lines: list[JournalLine], unfounded: dict[str, set[str]]
) -> None:
    every = [read_line({"open": "c", "session": "s", "at": 10}), *lines]
    corrected = credit.take_back_edits(every, "s", "c", 20)
    assert cuts.list_unfounded(every, corrected, "s").wholly == unfounded


def test_a_path_is_unfounded_in_a_commit_that_keeps_others() -> None:
    lines: list[JournalLine] = [
        read_line({"open": "c", "session": "s", "at": 10}),
        edit("f", 15),
        edit("g", 5, "tool", "b"),
        commit("c1", 16, "f", "g"),
    ]
    corrected = credit.take_back_edits(lines, "s", "c", 20)
    unfounded = cuts.list_unfounded(lines, corrected, "s")
    assert (unfounded.wholly, unfounded.partly) == ({}, {"c1": {"f"}})
