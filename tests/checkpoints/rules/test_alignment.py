"""Lines that read alike: the record follows git, whichever of them git takes for the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.checkpoints.format.line_authors import build_nobody

if TYPE_CHECKING:
    from gitcp.checkpoints.format.line_authors import Author

FILE = ["a", "}", "b", "}", "c", "}"]


def by(session: str) -> Author:
    return {**build_nobody("session"), "session_id": session} if session else build_nobody("person")


def align(decided: dict[int, str], *added: tuple[int, int]) -> dict[int, str]:
    hunks = [(0, 0, first, count) for first, count in added]
    authors = {line: by(session) for line, session in decided.items()}
    lines = line_authors.align_authors(authors, hunks, lambda: [line.encode() for line in FILE])
    return {line: author["session_id"] for line, author in lines.items()}


@pytest.mark.parametrize(
    ("authors", "added", "expected"),
    [
        ({3: "s", 4: "s"}, (2, 2), {2: "s", 3: "s", 4: "s"}),  # git has the brace above
        ({3: "s", 4: "s"}, (3, 2), {3: "s", 4: "s"}),
        ({3: "s"}, (2, 2), {3: "s"}),  # no brace to spare: nobody's
        ({3: "s", 4: "s"}, (1, 1), {3: "s", 4: "s"}),  # reads otherwise
        ({4: "s", 6: "t"}, (2, 1), {4: "s", 6: "t"}),  # of one of two: nobody's
        ({4: "s", 6: ""}, (2, 1), {4: "s", 6: ""}),
        ({4: "s", 6: "s"}, (2, 1), {2: "s", 4: "s", 6: "s"}),
        ({9: "s"}, (2, 1), {9: "s"}),  # behind the end: a damaged record
    ],
)
def test_an_equal_line_that_git_calls_new_is_whose_the_spare_one_is(
    authors: dict[int, str], added: tuple[int, int], expected: dict[int, str]
) -> None:
    assert align(authors, added) == expected


def test_the_file_is_read_only_where_there_is_a_line_to_name_and_one_to_spare() -> None:
    def unread() -> list[bytes]:
        raise AssertionError

    one = {3: by("s"), 4: by("s")}
    assert line_authors.align_authors(one, [(2, 0, 3, 2)], unread) == one
    assert line_authors.align_authors(one, [(2, 0, 3, 3)], unread) == one
    assert line_authors.align_authors({}, [(2, 0, 3, 3)], unread) == {}
