from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.text import line_evidence, pairing
from gitcp.text.line_evidence import split_lines
from gitcp.text.pairing import find_changed_lines


def text(letters: str) -> list[bytes]:
    return [c.encode() for c in letters]


def lost(a: list[bytes], b: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The lines that b has lost, and those that a has not."""
    removed, added = find_changed_lines(a, b)
    return [a[i] for i in removed], [b[j] for j in added]


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (None, []),
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\n", [b"a", b""]),
        (b"a\r\nb", [b"a\r", b"b"]),
    ],
)
def test_a_line_counts_with_or_without_its_newline(data: bytes | None, want: list[bytes]) -> None:
    assert split_lines(data) == want


@pytest.mark.parametrize(
    ("numbers", "want"),
    [
        ([], []),
        ([3], [(3, 3)]),
        ([1, 2, 3], [(1, 3)]),
        ([5, 2, 1, 6, 9], [(1, 2), (5, 6), (9, 9)]),
    ],
)
def test_consecutive_numbers_are_a_run(numbers: list[int], want: list[tuple[int, int]]) -> None:
    assert line_evidence.group_runs(numbers) == want


@pytest.mark.parametrize(
    ("a", "b", "removed", "added"),
    [
        ("", "", "", ""),
        ("abc", "abc", "", ""),
        ("", "abc", "", "abc"),
        ("abc", "", "abc", ""),
        ("abc", "axc", "b", "x"),
        ("abc", "abxc", "", "x"),
        ("abc", "ac", "b", ""),
        ("aa", "aaa", "", "a"),
        ("abcd", "dabc", "d", "d"),
        ("a}b}c}", "a}x}b}c}", "", "x}"),
        ("xyxyxy", "yxyxyx", "x", "x"),
        ("abcdef", "uvwxyz", "abcdef", "uvwxyz"),
    ],
)
def test_what_went_and_what_came(a: str, b: str, removed: str, added: str) -> None:
    got = lost(text(a), text(b))
    assert [sorted(x) for x in got] == [sorted(text(removed)), sorted(text(added))]


def longest(a: list[bytes], b: list[bytes]) -> int:
    """The length of a longest common subsequence, the plain way."""
    row = [0] * (len(b) + 1)
    for x in a:
        last = row[:]
        for j, y in enumerate(b):
            row[j + 1] = last[j] + 1 if x == y else max(row[j], last[j + 1])
    return row[-1]


TEXTS = st.text("abc}", max_size=14).map(text)


@given(TEXTS, TEXTS)
def test_the_books_balance_and_nothing_is_matched_twice(a: list[bytes], b: list[bytes]) -> None:
    removed, added = lost(a, b)
    assert len(a) - len(removed) == len(b) - len(added) <= longest(a, b)
    assert sorted(a + added) == sorted(b + removed)


@given(TEXTS, TEXTS)
def test_a_small_rest_is_matched_exactly(a: list[bytes], b: list[bytes]) -> None:
    paired = pairing._pair_exactly(a, b, list(range(len(a))), list(range(len(b))))
    assert len(paired) == longest(a, b)
    assert all(a[i] == b[j] for i, j in paired)
    assert paired == sorted(paired)


def test_of_much_that_is_unlike_the_longest_part_in_order_is_the_same() -> None:
    a = [b"%d" % n for n in range(300)]
    assert find_changed_lines(a, [a[-1], *a[1:-1], a[0]]) == ([0, 299], [0, 299])
    assert find_changed_lines(a, a[150:] + a[:150] + a[:1]) == ([*range(150)], [*range(150, 301)])


def test_a_line_that_both_have_once_comes_before_those_that_repeat() -> None:
    tail = [b"%d" % n for n in range(300)]
    a = [b"once", b"}", b"}", b"}", *tail, b"end", b"last"]
    b = [b"}", b"}", b"}", b"once", *tail, b"last", b"end"]
    removed, added = find_changed_lines(a, b)
    assert removed[:3] == [1, 2, 3] and added[:3] == [0, 1, 2]


def test_many_lines_that_all_repeat_are_matched_by_their_number() -> None:
    a, b = [b"x"] * 110 + [b"y"] * 110, [b"y"] * 109 + [b"x"] * 111
    assert lost(a, b) == ([b"y"], [b"x"])


def nested(levels: int, ends: tuple[bytes, bytes]) -> list[bytes]:
    """A text in which one line is there once; what stands before that has one such line again."""
    lines = [[b"%d" % k, b"%d" % (k + 1), ends[0]] for k in reversed(range(levels))]
    return [ends[1], *(line for three in lines for line in three)]


@pytest.mark.parametrize(
    "name", ["rewritten", "reversed", "repeated", "shuffled", "edited", "nested"]
)
def test_a_huge_file_takes_a_bounded_number_of_looks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 20_000
    a = [b"%d" % i for i in range(n)]
    if name == "nested":
        a = nested(n // 3, (b"}", b"{"))
    b = {
        "rewritten": [b"x%d" % i for i in range(n)],
        "reversed": a[::-1],
        "repeated": [b"%d" % (i % 7) for i in range(n)],
        "shuffled": [b"%d" % (i * 7919 % n) for i in range(n)],
        "edited": [x if i % 10 else b"new" for i, x in enumerate(a)],
        "nested": nested(n // 3, (b"{", b"}")),
    }[name]
    looks = 0
    trimmed = pairing._pair_ends

    def count(x: Any, y: Any, old: list[int], new: list[int]) -> Any:
        nonlocal looks
        looks += len(old) + len(new)
        return trimmed(x, y, old, new)

    monkeypatch.setattr(pairing, "_pair_ends", count)
    removed, added = lost(a, b)
    assert sorted(a + added) == sorted(b + removed)
    assert looks <= (pairing.EFFORT + 2) * 2 * n


@given(st.permutations(range(9)), st.permutations(range(9)))
def test_anchors_are_as_many_as_keep_their_order(first: list[int], two: list[int]) -> None:
    a, b = [[b"%d" % n for n in numbers] for numbers in (first, two)]
    anchors = pairing._pair_anchors(a, b)
    assert len(anchors) == longest(a, b)
    assert all(a[i] == b[j] for i, j in anchors)
    assert anchors == sorted(anchors) and len({j for _, j in anchors}) == len(anchors)
    assert [j for _, j in anchors] == sorted(j for _, j in anchors)
