"""Checkpoints without a commit and commits without a checkpoint: which belong together."""

from __future__ import annotations

import pytest

from gitcp.core.decide.relink_rules import pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.decide.relink_rules import Blobs


def blobs(*paths: str) -> Blobs:
    return {(path, f"<{path}>") for path in paths}


# blobs of the checkpoint, what each commit brings, patch-ids of the commits, the links and how
CASES: dict[str, tuple[Blobs, dict[str, Blobs], dict[str, str], list[tuple[str, str]]]] = {
    "the same patch": (blobs("a"), {"x": blobs(), "y": blobs()}, {"x": "p"}, [("x", "patch-id")]),
    "two of the same patch, one with the blobs": (
        blobs("a"), {"x": blobs("a"), "y": blobs()}, {"x": "p", "y": "p"}, [("x", "blobs")]),
    "all blobs and more": (blobs("a"), {"x": blobs("a", "b")}, {}, [("x", "blobs")]),
    "two with all blobs, one with less besides": (
        blobs("a"), {"x": blobs("a", "b"), "y": blobs("a")}, {}, [("y", "blobs")]),
    "two with all blobs and as much besides": (
        blobs("a"), {"x": blobs("a", "b"), "y": blobs("a", "c")}, {}, []),
    "each blob in one commit": (
        blobs("a", "b"), {"x": blobs("a"), "y": blobs("b")}, {}, [("x", "part"), ("y", "part")]),
    "a blob in two commits": (
        blobs("a", "b"), {"x": blobs("a"), "y": blobs("b"), "z": blobs("b")}, {}, []),
    "a blob in none": (blobs("a", "b"), {"x": blobs("a")}, {}, []),
    "no blobs": (blobs(), {"x": blobs("a")}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_checkpoint_gets_a_commit_where_there_is_no_doubt(name: str) -> None:
    files, commits, patches, want = CASES[name]
    pairs = pair({"1": files}, {"1": {"p"}}, commits, patches)
    assert [(one["commit"], one["how"]) for one in pairs] == want
