"""The search for the change at which a test turns from pass to fail."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitcp.extras.bisect import rules
from gitcp.extras.bisect.rules import BAD, GOOD, SKIP
from gitcp.record.journal.line_kinds import Edit


def search(states: list[str]) -> tuple[dict[int, str], tuple[int, int]]:
    """The verdicts on the states that were tested, and the range that is left."""
    found = {0: states[0], len(states) - 1: states[-1]}
    while (chosen := rules.choose_next(found)) is not None:
        assert chosen not in found
        found[chosen] = states[chosen]
    return found, rules.find_range(found)


def look_at_all(states: list[str]) -> tuple[int, int]:
    """The oracle: the last good state and the first bad one, from one end to the other."""
    return len(states) - 1 - states[::-1].index(GOOD), states.index(BAD)


@given(st.integers(1, 200), st.integers(1, 200))
def test_each_change_is_found_in_logarithmic_runs(good: int, bad: int) -> None:
    states = [GOOD] * good + [BAD] * bad
    found, ends = search(states)
    assert ends == look_at_all(states) == (good - 1, good)
    assert len(found) - 2 <= (len(states) - 1).bit_length()


@given(st.integers(1, 40), st.integers(1, 40), st.sets(st.integers(0, 79)))
def test_skipped_states_leave_the_smallest_range_around_the_change(
    good: int, bad: int, skipped: set[int]
) -> None:
    last = good + bad - 1
    states = [GOOD] * good + [BAD] * bad
    states = [SKIP if n in skipped and 0 < n < last else v for n, v in enumerate(states)]
    assert search(states)[1] == look_at_all(states)


@given(st.lists(st.sampled_from([GOOD, BAD, SKIP]), max_size=60))
def test_a_flaky_order_still_ends_between_a_good_and_a_bad_state(middle: list[str]) -> None:
    states = [GOOD, *middle, BAD]
    low, high = search(states)[1]
    assert (states[low], states[high]) == (GOOD, BAD)
    assert set(states[low + 1 : high]) <= {SKIP}


def test_a_long_run_of_states_that_cannot_be_tested_is_left_quickly() -> None:
    states = [GOOD] * 10 + [SKIP] * 80 + [BAD] * 900
    found, ends = search([GOOD] * 500 + states)
    assert ends == (509, 590)
    near = [n for n in found if n < 509 or n > 590]
    assert len(near) < 20


def test_statuses_are_those_of_git_bisect_run() -> None:
    told = {n: rules.read_status(n) for n in (0, 1, 124, 125, 126, 127, 128, 130, 255, -9)}
    assert told == {
        0: GOOD, 1: BAD, 124: BAD, 125: SKIP, 126: BAD, 127: BAD, 128: "", 130: "", 255: "", -9: ""
    }  # fmt: skip


def edit(path: str, before: str, after: str, who: object, at: int) -> Edit:
    entries = [["100644", oid] if oid else None for oid in (before, after)]
    return Edit({"path": path, "before": entries[0], "after": entries[1], "who": who, "at": at})


CALL = ["s", "t", "c"]
LINES = [
    edit("a", "", "a1", CALL, 1),
    edit("b", "", "b1", CALL, 1),
    edit("a", "a1", "a2", CALL, 2),
    edit("a", "a2", "a3", "person", 3),
    edit("a", "a3", "a4", "person", 4),
    edit("b", "b1", "", ["s2", "t", "c"], 5),
]


def test_edits_of_a_call_are_one_change_and_those_of_a_person_one_for_each_look() -> None:
    changes = rules.list_changes(LINES)
    assert [(change["who"][0], change["at"]) for change in changes] == [
        ("s", 2), ("", 3), ("", 4), ("s2", 5)
    ]  # fmt: skip
    assert changes[0]["edits"] == {
        "a": (None, ("100644", "a2")),
        "b": (None, ("100644", "b1")),
    }


def test_a_tree_is_found_among_the_states_by_its_files() -> None:
    changes = rules.list_changes(LINES)
    a2, a4, b1 = (("100644", oid) for oid in ("a2", "a4", "b1"))
    counts = rules.count_differing(changes, {"a": (a4, a2), "b": (None, b1)})
    assert counts == [2, 0, 1, 1, 2]
    assert rules.find_state(counts, [0, 2, 3, 4, 5], 4) == 1
    assert rules.find_state([0, 1, 0], [1, 2, 3], 3) == 2


def test_changes_of_others_join_the_next_one_of_the_session() -> None:
    changes = rules.list_changes(LINES)
    grouped = rules.join_changes(changes, "s2")
    assert [len(group) for group in grouped] == [4]
    assert [len(group) for group in rules.join_changes(changes, "s")] == [1, 3]
    assert [len(group) for group in rules.join_changes(changes, "")] == [1, 1, 1, 1]
