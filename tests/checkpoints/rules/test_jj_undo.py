"""Whether jj took a branch away by undoing, or a person deleted it."""

from __future__ import annotations

import pytest

from gitcp.checkpoints.format.orphan_rules import was_undone


@pytest.mark.parametrize(
    ("operations", "undone"),
    [
        ([], False),
        (["undo: restore to operation 80be"], True),
        (["new empty commit", "restore to operation 80be", "import git refs"], True),
        (["snapshot working copy", "revert operation 80be"], True),
        (["import git refs", "undo: restore to operation 80be"], False),
        (["delete bookmark entire/checkpoints/v1"], False),
        (["describe commit f2ea"], False),
    ],
)
def test_the_newest_operation_that_could_have_done_it_tells(
    operations: list[str], undone: bool
) -> None:
    assert was_undone(operations) == undone
