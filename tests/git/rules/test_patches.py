"""Patches of merges, as git prints them and as it should not."""

from __future__ import annotations

from gitcp.git.objects import patches

HEAD = [
    b"diff --cc a.go",
    b"index 1111111111111111111111111111111111111111,2222222222222222222222222222222222222222.."
    b"3333333333333333333333333333333333333333",
    b"--- a/a.go",
    b"+++ b/a.go",
]
HUNK = [
    b"@@@ -3,1 -4,1 +5,2 @@@ func take(n int) { n -1,2 +7",
    b"- one",
    b" -two",
    b"++three",
    b"++four",
]


def test_the_line_behind_a_merges_hunk_is_not_of_its_numbers() -> None:
    (patch,) = patches.parse_patches([*HEAD, *HUNK])
    (hunk,) = patch["resolved"]
    assert hunk["starts"] == [2, 3]
    assert hunk["lines"] == [("yn", False), ("ny", False), ("nn", True), ("nn", True)]


def test_a_count_that_fell_below_zero_costs_its_own_hunk_alone() -> None:
    wrapped = b"@@@ -9,32 -9,18446744073709551615 +9,18446744073709551615 @@@ func f()"
    (patch, after) = patches.parse_patches([*HEAD, wrapped, b"+ index a", b"--x", *HUNK, *HEAD])
    assert [len(hunk["lines"]) for hunk in patch["resolved"]] == [0, 4]
    assert after["path"] == "a.go" and not after["resolved"]
