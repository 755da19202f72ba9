"""What a reviewer sees of a change: its hunks, its authors' marks, what to look at first."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.extras.page import page_parts

OLD = [f"line {n}" for n in range(1, 61)]


def shape(hunk: Any) -> tuple[int, int, int, int, str]:
    """old, new, hidden, how many more, the signs."""
    return (
        hunk["old"],
        hunk["new"],
        hunk["hidden"],
        len(hunk["more"]),
        "".join(row[0] for row in hunk["rows"]),
    )


@pytest.mark.parametrize(
    ("edits", "shapes"),
    [
        ([(30, 1, 30, 2)], [(27, 27, 26, 20, "   -++   ")]),
        ([(0, 0, 1, 2)], [(1, 1, 0, 0, "++   ")]),
        ([(1, 60, 0, 0)], [(1, 1, 0, 0, "-" * 60)]),
        ([(5, 1, 5, 1), (12, 1, 12, 1)], [(2, 2, 1, 1, "   -+      -+   ")]),
        (
            [(5, 1, 5, 1), (40, 0, 41, 1)],
            [(2, 2, 1, 1, "   -+   "), (38, 38, 29, 20, "   +   ")],
        ),
        ([(60, 0, 61, 1)], [(58, 58, 57, 20, "   +")]),
    ],
)
def test_a_hunk_has_three_lines_around_and_folds_what_is_between(
    edits: list[tuple[int, int, int, int]], shapes: list[Any]
) -> None:
    new, shift = list(OLD), 0
    for start, removed, _, added in edits:
        at = start - bool(removed) + shift
        new[at : at + removed] = ["new"] * added
        shift += added - removed
    shown, left = page_parts.cut_hunks(edits, OLD, new, {})
    assert [shape(hunk) for hunk in shown] == shapes and left == 0
    for hunk in shown:
        rows = [row[1] for row in hunk["rows"] if row[0] != "-"]
        assert rows == new[hunk["new"] - 1 :][: len(rows)]
        rows = [row[1] for row in hunk["rows"] if row[0] != "+"]
        assert rows == OLD[hunk["old"] - 1 :][: len(rows)]


def test_no_more_rows_are_shown_than_somebody_reads() -> None:
    new = ["x"] * (page_parts.MOST_ROWS + 10)
    [shown], left = page_parts.cut_hunks([(0, 0, 1, len(new))], [], new, {})
    assert left == 10 and shown["rows"].count(["+", "x", 0]) == page_parts.MOST_ROWS


def test_a_session_is_called_by_its_first_words_and_a_person_by_initials() -> None:
    assert page_parts.name_session(["", "## Please split it\nand so on"], "Codex") == "Split it"
    assert page_parts.name_session([], "Codex") == "Codex session updates"
    assert [page_parts.mark_session(n) for n in (0, 25, 26, 701, 702)] == [
        "A",
        "Z",
        "AA",
        "ZZ",
        "AAA",
    ]
    names = ("Ada Lovelace", "ada", "J. R. Smith", "<b>", "", "Éva-Mária")
    assert [page_parts.mark_person(name) for name in names] == ["al", "ad", "js", "·", "·", "ém"]


def test_what_to_look_at_first_is_of_agents_untouched_large_and_untested() -> None:
    def file(path: str, agent: int, person: int = 0) -> page_parts.Changed:
        return {"path": path, "added": {"agent": agent, "person": person}}

    chosen = page_parts.choose_files(
        [
            file("src/small.py", 5),
            file("src/large.py", 90),
            file("src/tested.py", 70),
            file("src/touched.py", 60, 1),
            file("src/mine.py", 10, 80),
            file("tests/test_tested.py", 200),
            file("notes.md", 8),
        ]
    )
    assert chosen == [
        ("src/large.py", ["no line by a person", "90 lines by agents", "no test changed with it"]),
        ("src/tested.py", ["no line by a person", "70 lines by agents"]),
        ("src/touched.py", ["60 lines by agents", "no test changed with it"]),
        ("src/small.py", ["no line by a person", "no test changed with it"]),
    ]


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


@pytest.mark.parametrize(
    ("history", "lanes"),
    [
        ([("c", "b"), ("b", "a"), ("a", "")], [0, 0, 0]),
        ([("m", "bd"), ("d", "c"), ("b", "a"), ("c", "a"), ("a", "")], [0, 1, 0, 1, 0]),
        ([("x", "a"), ("y", "a"), ("a", "")], [0, 1, 0]),
        ([("m", "ab"), ("b", "a"), ("n", "ac"), ("c", "a"), ("a", "")], [0, 1, 1, 1, 0]),
        ([(name, name.upper()) for name in "abcdefgh"], [0, 1, 2, 3, 4, 5, 5, 5]),
    ],
    ids=["a line", "a merge", "two tips", "a lane is used again", "more than there is room for"],
)
def test_branches_stand_in_lanes(history: list[tuple[str, str]], lanes: list[int]) -> None:
    assert page_parts.assign_lanes(history) == lanes
