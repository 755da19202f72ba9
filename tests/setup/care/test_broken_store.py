"""The permanent branch with objects missing: built again of what is there, here or remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp.checkpoints import writing
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.broken import Store
from tests.support.checkpoints import V1, forget, git, session, tree

A, B = "aa0000000000", "bb0000000000"


@pytest.fixture
def stored(repo: Path) -> Path:
    """Two checkpoints, each a commit of the branch; nothing is packed."""
    here = Repo.find(str(repo))
    with Objects(here):
        for cid in (A, B):
            writing.write_sessions(here, [(cid, session("s"))])
    return repo


def lose(at: Path, spec: str) -> None:
    """An object goes for good."""
    forget(at / ".git", git("rev-parse", spec, cwd=at))


def mended(at: Path) -> str:
    [done] = [f for f in Store.check_at(at, fix=True) if f["kind"] == "broken-store"]
    git("gc", "-q", "--prune=now", cwd=at)
    git("fsck", "--no-dangling", cwd=at)
    assert not [f for f in Store.check_at(at) if f["kind"] in ("broken-store", "missing-object")]
    return str(done["repaired"])


@pytest.mark.parametrize(
    ("what", "left"),
    [
        (V1, A),
        (f"{V1}~1", A + B),
        (f"{V1}^{{tree}}", A),
        (f"{V1}:bb", A),
        (f"{V1}:aa", A),
        (f"{V1}:bb/0000000000/0", A + B),
        (f"{V1}~1^{{tree}}", A + B),
        (f"{V1}:bb/0000000000/metadata.json", A + B),
    ],
)
def test_what_is_left_goes_on_and_git_is_content(stored: Path, what: str, left: str) -> None:
    if what == f"{V1}:aa":
        left = B  # in no commit any more
    lose(stored, what)
    told = mended(stored)
    there = {path[:13].replace("/", "") for path in tree()}
    assert there == {cid for cid in (A, B) if cid in left}, told
    assert git("rev-list", V1)


def test_a_tree_that_is_lost_as_a_whole_is_named(stored: Path) -> None:
    lose(stored, f"{V1}^{{tree}}")
    assert mended(stored).endswith("; lost: /")


def test_a_remote_s_branch_has_what_is_lost_here(stored: Path, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", "--no-hardlinks", str(stored), str(tmp_path / "bare.git"))
    git("remote", "add", "origin", str(tmp_path / "bare.git"))
    before = tree()
    here = Repo.find(str(stored))
    with Objects(here):
        writing.write_sessions(here, [("cc0000000000", session("s"))])
    git("fetch", "-q", "origin", f"{V1}:refs/remotes/origin/entire/checkpoints/v1")
    lose(stored, f"{V1}:cc/0000000000")
    mended(stored)
    assert tree() == before


def test_where_nothing_can_be_read_the_branch_is_noted_and_let_go(stored: Path) -> None:
    for spec in (f"{V1}~1", V1):
        lose(stored, spec)
    assert mended(stored).startswith("nothing of it could be read")
    assert not git("for-each-ref", V1)
    [kept] = (stored / ".git/gitcp/corrupt").iterdir()
    assert kept.read_text().startswith(V1)
