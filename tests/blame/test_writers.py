"""Where a line was is searched for only if it may have had another author there."""

from __future__ import annotations

import pytest

from gitcp.store.lines.history import Writers

OLD, NEW, NONE = "1" * 40, "2" * 40, "0" * 40
EDIT, ADD, DELETE = (OLD, NEW, False), (NONE, NEW, False), (OLD, NONE, False)


@pytest.mark.parametrize(
    "author, before, matters",
    [
        ("", ("", "a.py"), False),
        ("person", ("person", "a.py"), False),
        ("person", ("", "a.py"), True),
        ("", ("person", "a.py"), True),
        ("", ("unrecorded Codex", "a.py"), True),
        ("person", ("c1", "a.py"), True),
        ("person", ("c1", "b.py"), False),
    ],
)
def test_only_another_author_of_the_same_path_matters(
    author: str, before: tuple[str, str], matters: bool
) -> None:
    writers = Writers()
    writers.take("newest", author, b"", [("a.py", *EDIT)])
    writers.take("oldest", before[0], b"", [(before[1], *EDIT)])
    writers.complete = True
    assert writers.may_matter("newest", "a.py") is matters


def test_a_path_that_went_when_the_file_came_may_be_where_its_lines_were() -> None:
    writers = Writers()
    writers.take("newest", "person", b"", [("new.py", *EDIT)])
    writers.take("moved", "person", b"", [("new.py", *ADD), ("old.py", *DELETE)])
    writers.take("oldest", "c1", b"", [("old.py", *ADD)])
    writers.complete = True
    assert writers.may_matter("newest", "new.py")


@pytest.mark.parametrize("reverted, matters", [("1" * 40, False), ("3" * 40, True)])
def test_a_revert_may_bring_lines_from_outside_its_history(reverted: str, matters: bool) -> None:
    writers = Writers()
    message = f"Revert it\n\nThis reverts commit {reverted}.\n".encode()
    writers.take("2" * 40, "", message, [("a.py", *EDIT)])
    writers.take("1" * 40, "", b"", [("a.py", *EDIT)])
    writers.complete = True
    assert writers.may_matter("2" * 40, "a.py") is matters


def test_a_history_with_a_hole_is_searched() -> None:
    writers = Writers()
    writers.take("newest", "person", b"", [("a.py", *EDIT)])
    assert writers.may_matter("newest", "a.py")
