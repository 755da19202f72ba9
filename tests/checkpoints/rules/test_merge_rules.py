from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.checkpoints.format import merge_rules

SIZES = {"long": 9, "short": 3, "same": 3}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x", "yy"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=4,
)
OIDS = st.sampled_from([*SIZES]).map(lambda oid: ("100644", oid))
NAMES = ["full.jsonl", "full.jsonl.001", "content_hash.txt", "prompt.txt", "tasks/x"]
TIMES = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T01:30:00.5+01:00",
    "2025-12-31T23:59:59.123456789Z",
    "",
]
METADATA = st.fixed_dictionaries(
    {"created_at": st.sampled_from(TIMES)},
    optional={
        "files_touched": st.none() | st.lists(st.sampled_from("abc")),
        "token_usage": JSON,
        "unknown": JSON,
    },
)
SESSION = st.tuples(METADATA, st.dictionaries(st.sampled_from(NAMES), OIDS))


def directory(root: dict[str, Any] | None, by_id: dict[str, Any], files: merge_rules.Files) -> Any:
    sessions: list[merge_rules.Session] = [
        {"metadata": {**metadata, "session_id": sid}, "files": names}
        for sid, (metadata, names) in by_id.items()
    ]
    return {"root": root, "sessions": sessions, "files": files}


DIRECTORY = st.builds(
    directory,
    st.none() | st.dictionaries(st.sampled_from("abc"), JSON),
    st.dictionaries(st.sampled_from(["s1", "s2", "s3"]), SESSION),
    st.dictionaries(st.sampled_from(["tasks/t/a", "note"]), OIDS),
)


def larger(mine: merge_rules.Entry, two: merge_rules.Entry) -> merge_rules.Entry:
    return max(mine, two, key=lambda entry: (SIZES[entry[1]], entry))


def joined(*entries: merge_rules.Directory) -> merge_rules.Directory:
    first, *rest = entries
    for other in rest:
        first = merge_rules.merge_directories(first, other, SIZES.__getitem__, larger)
    return first


def text(value: object) -> str:
    return json.dumps(value)  # the order of keys counts: it becomes bytes


@given(DIRECTORY, DIRECTORY, DIRECTORY)
def test_any_order_of_merges_gives_the_same(
    a: merge_rules.Directory, b: merge_rules.Directory, c: merge_rules.Directory
) -> None:
    tidy = {text(tidied(joined(*order))) for order in permutations((a, b, c))}
    tidy.add(text(tidied(joined(a, joined(b, c)))))
    tidy.add(text(tidied(joined(joined(a, b), joined(b, c), a))))
    assert len(tidy) == 1


def tidied(value: Any) -> Any:
    """Files have no order of their own: git sorts them."""
    files = [sorted(s["files"].items()) for s in value["sessions"]]
    return value["root"], [s["metadata"] for s in value["sessions"]], files, sorted(value["files"])


def make_session(sid: str, created: str, **files: str) -> merge_rules.Directory:
    names = {n.replace("_", "."): ("100644", oid) for n, oid in files.items()}
    return directory({}, {sid: ({"created_at": created}, names)}, {})  # type: ignore[no-any-return]


def test_a_session_extended_on_one_side_has_the_longer_transcript_whole() -> None:
    a = make_session("s", "t", full_jsonl="long")
    b = make_session("s", "t", full_jsonl="short", prompt_txt="same")
    [session] = joined(a, b)["sessions"]
    assert session["files"] == {
        "full.jsonl": ("100644", "long"),
        "prompt.txt": ("100644", "same"),
    }


def test_one_index_taken_by_two_sessions_becomes_two_in_order_of_time() -> None:
    a, b = make_session("late", TIMES[0]), make_session("early", TIMES[2])
    sids = [(s["metadata"] or {})["session_id"] for s in joined(a, b)["sessions"]]
    assert sids == ["early", "late"]


def test_a_session_that_is_there_twice_stays_twice() -> None:
    a, b = make_session("s", "t", full_jsonl="long"), make_session("other", "t")
    a["sessions"] = [*a["sessions"], *make_session("s", "u", full_jsonl="short")["sessions"]]
    assert len(joined(a, b)["sessions"]) == 3


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        ({"x": 1}, {"y": 2}, {"x": 1, "y": 2}),
        ({"x": 1}, {"x": 2}, {"x": 2}),
        ({"x": None}, {"x": "text"}, {"x": "text"}),
        ({"x": {"a": 1}}, {"x": {"b": 2}}, {"x": {"a": 1, "b": 2}}),
        ({"files_touched": ["b"]}, {"files_touched": ["a"]}, {"files_touched": ["a", "b"]}),
        ({"files_touched": None}, {"files_touched": ["a"]}, {"files_touched": ["a"]}),
        ({"summary": {"i": "x"}}, {}, {"summary": {"i": "x"}}),
        ({"created_at": TIMES[0]}, {"created_at": TIMES[2]}, {"created_at": TIMES[2]}),
        ({"created_at": TIMES[0]}, {"created_at": TIMES[1]}, {"created_at": TIMES[0]}),
    ],
)
def test_metadata_of_two_sides_is_joined_key_by_key(
    a: dict[str, Any], b: dict[str, Any], want: dict[str, Any]
) -> None:
    assert merge_rules.join_objects(a, b) == merge_rules.join_objects(b, a) == want


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024])
def test_days_are_counted_as_in_the_calendar(year: int) -> None:
    first = datetime(year, 1, 1, tzinfo=UTC)
    days = [first + timedelta(n) for n in range(367)]
    start, *seconds = (merge_rules.parse_time(day.isoformat())[0] for day in days)
    assert [second - start for second in seconds] == [86400 * n for n in range(1, 367)]


def test_times_are_compared_in_utc() -> None:
    order = [
        "1999-12-31T23:59:59Z",
        "2000-02-28T23:00:00Z",
        "2000-02-29T00:30:00+01:00",
        "2000-02-29T23:59:59Z",
        "2000-03-01T00:00:00-00:30",
        "2026-01-05T10:00:00.1+11:00",
        "2026-01-05T00:00:00.25+00:00",
    ]
    assert sorted({*order}, key=merge_rules.parse_time) == order


GONE = {"session_id": "s1", "forgotten": "2026-11-22T00:00:00Z"}
SAID: merge_rules.Session = {
    "metadata": {"session_id": "s1", "summary": "words", "created_at": TIMES[0]},
    "files": {"full.jsonl": ("100644", "long")},
}
OTHER: merge_rules.Session = {"metadata": {"session_id": "s2"}, "files": {}}


@pytest.mark.parametrize("others", [[], [OTHER]])
def test_what_was_forgotten_stays_so_in_whatever_order(others: list[merge_rules.Session]) -> None:
    tasks: merge_rules.Files = {"tasks": ("040000", "same")}
    tombstone: merge_rules.Directory = {
        "root": None,
        "sessions": [{"metadata": GONE, "files": {}}],
        "files": {},
    }
    content: merge_rules.Directory = {
        "root": {"a": 1},
        "sessions": [SAID, *others],
        "files": tasks,
    }
    for order in permutations([tombstone, content, content]):
        united = joined(*order)
        [part] = [s for s in united["sessions"] if (s["metadata"] or {})["session_id"] == "s1"]
        assert part["metadata"] == GONE and part["files"] == {}


def test_a_number_that_is_none_is_joined_in_any_order() -> None:
    for other in (0, -1.5, float("inf")):
        pair = {"k": float("nan")}, {"k": other}
        assert len({text(merge_rules.join_objects(*order)) for order in permutations(pair)}) == 1


def test_of_values_of_two_kinds_the_one_that_stands_is_the_same_on_both_sides() -> None:
    ranked: list[Any] = [None, False, True, 0, 1, 2.5, "", "abc", [], [1, 2], {}]
    for n, low in enumerate(ranked):
        for high in ranked[n + 1 :]:
            for pair in permutations(({"k": low}, {"k": high})):
                assert merge_rules.join_objects(*pair) == {"k": high}, (low, high)
