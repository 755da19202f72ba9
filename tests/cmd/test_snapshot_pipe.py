"""list-changes, write-blobs, write-tree, write-commit, update-ref: one pipe and its stages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.broken import break_git
from tests.support.paths import BIN
from tests.support.snapshots import footprint, git, listing, oracle, sh
from tests.support.stages import bind_stage

if TYPE_CHECKING:
    from gitcp.text.record_types import Record

PIPE = (
    "gitcp-list-changes | gitcp-write-blobs | gitcp-write-tree --base=HEAD"
    " | gitcp-write-commit -m snap | gitcp-update-ref refs/heads/snap"
)
OID = "0123456789012345678901234567890123456789"


def run(pipe: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-c", pipe], env=env, cwd=cwd, capture_output=True, text=True)


def head(what: str = "") -> str:
    return git("rev-parse", "HEAD" + what).decode().strip()


def changes() -> list[Record]:
    return list(bind_stage("list-changes", [])(()))


@pytest.mark.parametrize("start", [".", "src"])
def test_the_pipe_makes_the_commit_of_the_worktree(start: str, repo: Path) -> None:
    sh("echo 2 >>README.md; rm src/app.py; chmod +x src/lib.py; ln -s README.md l")
    sh("f=$(printf 'a\\nb\\377'); echo 1 >\"$f\"; echo 3 >staged; git add staged; mkfifo p")
    index, others = Path(".git/index").read_bytes(), footprint(repo / "src")
    done = run(PIPE, start)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(".git/index").read_bytes() == index
    assert footprint(repo / "src") == others
    assert listing("snap") == oracle(repo.parent / "i")
    assert git("log", "--format=%s %P", "-1", "snap").decode().split() == ["snap", head()]
    assert '"omitted":[{"path":"p","reason":"fifo"}]' in done.stdout
    assert '"old":null' in done.stdout


def test_the_pipe_works_with_an_unborn_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sh("git init -q r; mkdir r/d; echo 1 >r/d/f")
    monkeypatch.chdir("r")
    done = run(PIPE)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(listing("snap")) == {"d/f"}
    assert git("log", "--format=%P", "snap") == b"\n"


def test_the_pipe_works_in_a_linked_worktree(repo: Path) -> None:
    sh("git worktree add -q ../linked HEAD~; echo 1 >../linked/new")
    assert run(PIPE, "../linked").returncode == 0
    assert set(listing("snap")) == {*listing("HEAD~"), "new"}


def test_a_clean_worktree_gives_the_tree_of_head(repo: Path) -> None:
    first = {"type": "tree", "oid": head("^{tree}"), "base": head(), "ends": True}
    assert changes() == [first, {"type": "end"}]
    assert run(PIPE).returncode == 0
    assert listing("snap") == listing("HEAD")


def test_the_pipe_runs_again_onto_its_own_ref(repo: Path) -> None:
    run(PIPE)
    first = git("rev-parse", "snap").decode().strip()
    sh("echo 2 >>README.md")
    assert f'"old":"{first}"' in run(PIPE).stdout


def test_a_failure_at_the_head_of_the_pipe_makes_no_commit(repo: Path) -> None:
    done = run(f"export HOME={repo}; {PIPE}")
    assert "refusing to snapshot the home directory" in done.stderr
    assert "fatal: no records to build a tree from" in done.stderr
    assert run("git rev-parse -q --verify refs/heads/snap").returncode


def test_a_failure_to_store_makes_no_commit(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("echo 2 >>README.md; echo '*.no text' >.gitattributes; printf 'low\\r\\n' >n.no")
    break_git(monkeypatch, tmp_path / "bin", "--add|--no-filters", "fatal: n.no: no room")
    assert "n.no" in run(PIPE).stderr
    assert run("git rev-parse -q --verify refs/heads/snap").returncode


def test_a_ref_that_is_not_where_it_was_said_to_be_is_busy(repo: Path) -> None:
    sh("git branch snap HEAD")
    old, new = head("~"), head()
    done = run(PIPE + f" {old}")
    expected = f"fatal: 'refs/heads/snap' has moved: expected {old}, found {new}\n"
    assert (done.returncode, done.stdout, done.stderr) == (75, "", expected)
    assert head() == git("rev-parse", "snap").decode().strip()
