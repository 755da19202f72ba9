"""The shape of the entries of a worktree, which are checked together."""

from __future__ import annotations

import pytest

from gitcp.text import shapes

GOOD = {
    "a.txt": ["100644", "0" * 40],
    "d/b..c": ["100755", "f" * 64],
    "gone": None,
    "no": ["120000", ""],
}


def test_entries_of_a_worktree_fit() -> None:
    assert shapes.is_entries(GOOD)
    assert shapes.is_entries({})


@pytest.mark.parametrize(
    "path", ["", "/a", "a/../b", "..", "a\0b"], ids=["empty", "absolute", "above", "dots", "nul"]
)
def test_a_path_outside_the_worktree_fits_nowhere(path: str) -> None:
    assert not shapes.is_entries({**GOOD, path: ["100644", "0" * 40]})


@pytest.mark.parametrize(
    "entry",
    [
        ["100644"],
        ["100644", "0" * 40, ""],
        ["100644", "0" * 65],
        ["100644", "g" * 40],
        ["100644", "\ud800"],
        ["100644", 5],
        ["10064", "0" * 40],
        ["1006x4", "0" * 40],
        [100644, "0" * 40],
        [["100644"], "0" * 40],
        "100644",
        {},
    ],
    ids=repr,
)
def test_what_is_no_entry_fits_nowhere(entry: object) -> None:
    assert not shapes.is_entries({**GOOD, "b.txt": entry})
