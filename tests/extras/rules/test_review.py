"""What a reviewer sees of a change: its hunks by the prompts that wrote them, letters, forges."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.extras.page import hunks, page_parts
from gitcp.extras.page.hunks import Mark, Owner, cut_hunks

LINES = 60  # of the file before
A, B = Owner("prompt", "", "s", 1), Owner("prompt", "", "s", 2)
PERSON, NOBODY = Owner("person", "Ada"), Owner("unknown")
OWNERS = {"a": A, "b": B, "p": PERSON, "u": NOBODY}


def draw(hunk: Any) -> tuple[int, int, str]:
    """The first lines before and after, and the signs."""
    signs = ""
    for old, new in hunk.rows:
        signs += " " if old and new else "-" if old else "+"
    old, new = hunk.rows[0]
    return old, new, signs


@pytest.mark.parametrize(
    ("edits", "shapes"),
    [
        ([(30, 1, 30, 2)], [(27, 27, "   -++   ")]),
        ([(0, 0, 1, 2)], [(0, 1, "++   ")]),
        ([(1, 60, 0, 0)], [(1, 0, "-" * 60)]),
        ([(5, 1, 5, 1), (12, 1, 12, 1)], [(2, 2, "   -+      -+   ")]),
        ([(5, 1, 5, 1), (40, 0, 41, 1)], [(2, 2, "   -+   "), (38, 38, "   +   ")]),
        ([(60, 0, 61, 1)], [(58, 58, "   +")]),
    ],
)
def test_a_hunk_has_three_lines_around_it(
    edits: list[tuple[int, int, int, int]], shapes: list[Any]
) -> None:
    count = LINES + sum(added - removed for _, removed, _, added in edits)
    new = [n for _, _, first, added in edits for n in range(first, first + added)]
    shown, left = cut_hunks(edits, count, {n: Mark(A) for n in new})
    assert [draw(hunk) for hunk in shown] == shapes and left == 0
    seen = [row for hunk in shown for row in hunk.rows]
    for side in (0, 1):
        numbers = [row[side] for row in seen if row[side]]
        assert numbers == sorted(set(numbers)), "no line twice"


@pytest.mark.parametrize(
    ("lines", "heads"),
    [
        ("aaa", "a3"),
        ("aapuu", "a2"),  # a prompt is named before all others
        ("ppu", "p2"),
        ("aabbb", "b3"),  # a few lines make no hunk of their own
        (10 * "a" + 10 * "b" + "u", "a10 b10"),
        (12 * "a" + 3 * "b" + 12 * "a", "a24"),
        (11 * "a" + "uu" + 11 * "b" + 12 * "a", "a11 b11 a12"),
    ],
)
def test_a_hunk_is_headed_by_the_prompt_that_wrote_most_of_it(lines: str, heads: str) -> None:
    marks = {n: Mark(OWNERS[who]) for n, who in enumerate(lines, 1)}
    shown, _ = cut_hunks([(1, 1, 1, len(lines))], len(lines), marks)
    letters = {owner: letter for letter, owner in OWNERS.items()}
    told = [f"{letters[one.owner]}{one.count(one.owner)}" for one in shown if one.owner]
    assert " ".join(told) == heads
    rows = [row for hunk in shown for row in hunk.rows]
    assert rows == [(1, 0), *((0, n) for n in range(1, len(lines) + 1))]


def test_two_prompts_near_each_other_have_a_head_each_and_share_the_context() -> None:
    edits = [(5, 0, 6, 1), (9, 0, 11, 1)]
    shown, _ = cut_hunks(edits, LINES + 2, {6: Mark(A), 11: Mark(B)})
    assert [draw(hunk) for hunk in shown] == [(3, 3, "   +   "), (9, 10, " +   ")]
    assert [hunk.owner for hunk in shown] == [A, B]
    gone, _ = cut_hunks([(5, 1, 4, 0)], LINES - 1, {})
    assert [hunk.owner for hunk in gone] == [None]


def test_no_more_rows_are_shown_than_somebody_reads() -> None:
    count = hunks.MOST_ROWS + 10
    [shown], left = cut_hunks([(0, 0, 1, count)], count, {})
    assert left == 10 and len(shown.rows) == hunks.MOST_ROWS


def test_prompts_have_letters_and_their_first_line() -> None:
    wanted = ["A", "Z", "AA", "ZZ", "AAA"]
    assert [page_parts.make_letters(n) for n in (0, 25, 26, 701, 702)] == wanted
    assert page_parts.name_prompt("\nSplit it\n\n---\n\nand so on") == "Split it"


@pytest.mark.parametrize(
    ("remote", "kind", "commit"),
    [
        ("git@github.com:a/b.git", "auto", "https://github.com/a/b/commit/1"),
        ("https://user:secret@github.com/a/b", "auto", "https://github.com/a/b/commit/1"),
        (
            "ssh://git@gitlab.example.org:2222/g/s/b.git",
            "auto",
            "https://gitlab.example.org/g/s/b/-/commit/1",
        ),
        ("https://codeberg.org/a/b", "auto", "https://codeberg.org/a/b/commit/1"),
        ("https://git.example.org/a/b", "auto", ""),
        ("https://git.example.org/a/b", "gitea", "https://git.example.org/a/b/commit/1"),
        ("git@github.com:a/b.git", "none", ""),
        ("../bare.git", "auto", ""),
        ("file:///srv/github.com/x", "auto", ""),
        ("javascript:alert(1)//github.com/x", "auto", ""),
        (
            "https://github.com/a\"><b>'/x y",
            "auto",
            "https://github.com/a%22%3E%3Cb%3E%27/x%20y/commit/1",
        ),
        (
            "https://github.com/{oid}/%7Bx%7D",
            "auto",
            "https://github.com/%7Boid%7D/%257Bx%257D/commit/1",
        ),
    ],
)
def test_a_forge_is_known_by_the_address_of_the_remote(remote: str, kind: str, commit: str) -> None:
    links = page_parts.find_links(remote, kind)
    assert page_parts.link_commit(links, "1") == commit
    assert "secret" not in page_parts.link_file(links, "1", "a b/<c>")
