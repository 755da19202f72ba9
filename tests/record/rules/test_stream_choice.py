"""The rows of doc/behaviour.md "Which stream a turn continues": decide, score, written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitcp.record.session import stream_choice

if TYPE_CHECKING:
    from gitcp.record.session.stream_choice import View

V1, V2, V3 = ("100644", "1" * 40), ("100644", "2" * 40), ("100644", "3" * 40)
Files = dict[str, tuple[str, str] | None]


def view(name: str, files: Files | None, time: int = 0, orphan: bool = False) -> View:
    where = {"ref": f"refs/{name}", "tip": f"tip of {name}"}
    return {"id": name, "time": time, "files": files, "orphan": orphan, **where}  # type: ignore[typeddict-item]


A1 = view("one", {"a": V1})
AB = view("one", {"a": V1, "b": V2})
OTHER = view("other", {"x": V3}, time=1)
TWIN = view("twin", {"x": V3}, time=1)
LATER = view("later", {"x": V3}, time=2)
RICHER = view("richer", {"x": V3, "y": V2}, time=0)
ORPHAN = view("one", {"a": V1}, orphan=True)
# case, current, others, dirty, whether the agent's lines survive -> overlap's word, suffix's word
ROWS = [
    ("no stream, clean", None, [], {}, False, "none", "new"),
    ("no stream, changes", None, [], {"a": V1}, False, "none", "new"),
    ("unreadable, clean", view("one", None), [], {}, False, "reset", "new"),
    ("unreadable, changes", view("one", None), [], {"a": V1}, True, "reset", "new"),
    ("unreadable, another back", view("one", None), [OTHER], {"x": V3}, True, "reset", "new"),
    ("orphan, its files there", ORPHAN, [], {"a": V1}, True, "reset", "new"),
    ("orphan, another back", ORPHAN, [OTHER], {"a": V1, "x": V3}, True, "restore", "restore"),
    ("clean", A1, [], {}, False, "reset", "new"),
    ("clean, others away", A1, [OTHER], {}, False, "reset", "new"),
    ("changes, no overlap", A1, [], {"z": V3}, False, "reset", "new"),
    ("a file that is always there", A1, [], {"notes.txt": V3}, False, "reset", "new"),
    ("overlap, same content", A1, [], {"a": V1}, True, "continue", "continue"),
    ("overlap, edited, lines stay", A1, [], {"a": V2}, True, "continue", "continue"),
    ("overlap, lines gone", A1, [], {"a": V2}, False, "continue", "new"),
    ("overlap of one among two", AB, [], {"b": V2}, True, "continue", "continue"),
    ("overlap of one, lines gone", AB, [], {"b": V3}, False, "continue", "new"),
    ("deleted in both", view("one", {"a": None}), [], {"a": None}, True, "continue", "continue"),
    ("another's work is back", A1, [OTHER], {"x": V3}, False, "restore", "restore"),
    ("back, ours edited beside it", A1, [OTHER], {"a": V2, "x": V3}, True, "restore", "restore"),
    ("both there: stay", A1, [OTHER], {"a": V1, "x": V3}, True, "continue", "continue"),
    ("another's path, other content", A1, [OTHER], {"x": V1}, False, "reset", "new"),
    ("another is unreadable", A1, [view("other", None)], {"x": V3}, False, "reset", "new"),
    ("two of one time are back", A1, [OTHER, TWIN], {"x": V3}, False, "restore", "restore"),
    ("no stream here, another back", None, [OTHER], {"x": V3}, False, "restore", "restore"),
]


@pytest.mark.parametrize(
    ("current", "others", "dirty", "stay", "overlap", "suffix"),
    [pytest.param(*row[1:], id=row[0]) for row in ROWS],
)
def test_the_first_row_that_fits_decides(
    current: View | None, others: list[View], dirty: Files, stay: bool, overlap: str, suffix: str
) -> None:
    words = [
        stream_choice.choose_stream(mode, current, others, dirty, lambda _: stay)["verdict"]
        for mode in ("overlap", "suffix")
    ]
    assert words == [overlap, suffix]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("no stream, clean", "no shadow branch yet, nothing to check"),
        ("unreadable, clean", "failed to read shadow branch files"),
        ("clean", "clean worktree at prompt start"),
        ("changes, no overlap", "no file overlap at prompt start"),
        ("overlap, same content", "file overlap detected at prompt start"),
    ],
)
def test_the_reason_is_in_the_words_of_seed_000(case: str, reason: str) -> None:
    row = next(row for row in ROWS if row[0] == case)
    _, current, others, dirty, stay, *_ = row
    found = stream_choice.choose_stream("overlap", current, others, dirty, lambda _: stay)  # type: ignore[arg-type]
    assert found["reason"] == reason


def test_a_verdict_names_the_stream_and_the_tip_it_speaks_of() -> None:
    found = stream_choice.choose_stream("overlap", A1, [OTHER], {"x": V3}, lambda _: False)
    assert (found["ref"], found["tip"]) == ("refs/other", "tip of other")
    found = stream_choice.choose_stream("overlap", A1, [], {}, lambda _: False)
    assert (found["ref"], found["tip"]) == ("refs/one", "tip of one")


def test_of_several_streams_the_best_score_wins_and_then_the_newest() -> None:
    dirty: Files = {"x": V3, "y": V2}
    others = [OTHER, RICHER, LATER]
    assert (
        stream_choice.choose_stream("overlap", A1, others, dirty, lambda _: False)["ref"]
        == "refs/richer"
    )
    dirty = {"x": V3}
    assert (
        stream_choice.choose_stream("overlap", A1, others, dirty, lambda _: False)["ref"]
        == "refs/later"
    )


def test_overlap_never_asks_for_lines() -> None:
    def asked(_: View) -> bool:
        raise AssertionError("step 3 is of suffix mode")

    assert stream_choice.choose_stream("overlap", A1, [], {"a": V2}, asked)["verdict"] == "continue"


@pytest.mark.parametrize(
    ("files", "dirty", "expected"),
    [
        ({"a": V1}, {"a": V1}, 1),
        ({"a": V1}, {"a": V2}, 0),
        ({"a": V1}, {}, 0),  # not different from HEAD: no evidence, even if it is the same blob
        ({"a": None}, {"a": None}, 1),
        ({"a": None}, {}, 0),
        ({"a": V1, "b": V2, "c": V3}, {"a": V1, "b": V2, "c": V1, "d": V3}, 2),
        ({"a": V1}, {"a": ("100755", V1[1])}, 0),
    ],
)
def test_score_counts_files_that_differ_from_head_and_are_as_recorded(
    files: Files, dirty: Files, expected: int
) -> None:
    assert stream_choice.count_present_files(files, dirty) == expected


# case, start, now, committed meanwhile -> changed
CHANGED: list[tuple[str, Files, Files, list[str], set[str]]] = [
    ("nothing", {"a": V1}, {"a": V1}, [], set()),
    ("new", {}, {"a": V1}, [], {"a"}),
    ("changed on", {"a": V1}, {"a": V2}, [], {"a"}),
    ("put back", {"a": V1}, {}, [], {"a"}),
    ("deleted", {}, {"a": None}, [], {"a"}),
    ("committed meanwhile", {"a": V1}, {}, ["a"], set()),
    ("committed, then on", {"a": V1}, {"a": V2}, ["a"], {"a"}),
]


@pytest.mark.parametrize(
    ("start", "now", "committed", "changed"),
    [pytest.param(*row[1:], id=row[0]) for row in CHANGED],
)
def test_what_changed_in_a_turn(
    start: Files, now: Files, committed: list[str], changed: set[str]
) -> None:
    assert stream_choice.list_changed_paths(start, now, committed) == changed
