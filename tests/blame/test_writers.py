"""Where a line was is searched for only if a session or a recorded person may have written it."""

from __future__ import annotations

import pytest

from gitcp.store.lines.history import Writers

OLD, NEW, NONE = "1" * 40, "2" * 40, "0" * 40
EDIT, ADD, DELETE = (OLD, NEW, False), (NONE, NEW, False), (OLD, NONE, False)


@pytest.mark.parametrize(
    "author, before, matters",
    [
        ("unknown", ("unrecorded", False, [("a.py", *EDIT)]), False),
        ("person", ("unrecorded", False, [("a.py", *EDIT)]), True),
        ("unrecorded", ("person", True, [("a.py", *EDIT)]), True),
        ("person", ("c1", True, [("a.py", *EDIT)]), True),
        ("person", ("c1", True, [("b.py", *EDIT)]), False),
    ],
)
def test_only_a_recorded_author_of_the_same_path_matters(
    author: str, before: tuple[str, bool, list[tuple[str, str, str, bool]]], matters: bool
) -> None:
    writers = Writers()
    writers.take("newest", author, author == "person", [("a.py", *EDIT)])
    writers.take("oldest", *before)
    writers.complete = True
    assert writers.may_matter("newest", "a.py") is matters


def test_a_path_that_went_when_the_file_came_may_be_where_its_lines_were() -> None:
    writers = Writers()
    writers.take("newest", "person", True, [("new.py", *EDIT)])
    writers.take("moved", "person", True, [("new.py", *ADD), ("old.py", *DELETE)])
    writers.take("oldest", "c1", True, [("old.py", *ADD)])
    writers.complete = True
    assert writers.may_matter("newest", "new.py")


def test_a_history_with_a_hole_is_searched() -> None:
    writers = Writers()
    writers.take("newest", "person", True, [("a.py", *EDIT)])
    assert writers.may_matter("newest", "a.py")
