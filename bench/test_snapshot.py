"""A snapshot against the floor, `git status -uall`, and against what one would do otherwise.

The rows of a size are measured in turns, one round of each after the other, so that a busy
moment of the machine falls on all of them.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench import repos
from bench.budgets import Budget, Cost, table
from gitcp.git import refs
from gitcp.git.objects import Lookup, Objects, write_commit
from gitcp.git.repo import Repo
from gitcp.record.snapshot import own_index
from gitcp.record.snapshot.scan import (
    confirm_changes,
    read_paths,
    resolve_changes,
    scan_worktree,
    write_tree,
)
from tests.conftest import sealed, search_path  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Entries

QUIET = {"GIT_OPTIONAL_LOCKS": "0"}
SNAP = "refs/heads/snap"


class Work:
    """The rows: each does one thing to the repository, whole."""

    def __init__(self, path: Path) -> None:
        self.path, self.turn = path, 0

    def edit(self) -> None:
        """Three files changed and one added, before each round."""
        self.turn += 1
        for n in (1, 77, 150):
            with repos.file(self.path, n).open("a") as f:
                f.write(f"turn {self.turn}\n")
        repos.write(self.path / "notes" / "new.txt", f"turn {self.turn}\n")

    def git_status(self) -> None:
        repos.git(self.path, "status", "--porcelain", "-z", "-uall", env=QUIET)

    def list_changes(self) -> None:
        repo = Repo.find(str(self.path))
        with Objects(repo):
            confirm_changes(repo.objects, scan_worktree(repo))

    def whole_snapshot(self) -> None:
        repo = Repo.find(str(self.path))
        with Objects(repo):
            scan = scan_worktree(repo)
            resolved = partial(resolve_changes, repo.objects, scan, write=True)
            self.commit(repo, scan.head, lambda head: resolved(find_held=head))

    def known_paths(self) -> None:
        repo = Repo.find(str(self.path))
        paths = [str(repos.file(self.path, n).relative_to(self.path)) for n in (1, 77, 150)]
        with Objects(repo):
            found = read_paths(repo, [*paths, "notes/new.txt"], write=True)
            self.commit(repo, "HEAD", lambda _: found)

    def commit(self, repo: Repo, head: str | None, entries: Callable[..., Entries]) -> None:
        """What a checkpoint does besides: tip, tree, commit, compare and swap."""
        tip = repo.objects.read(SNAP)
        tip_tree = repo.objects.read(f"{SNAP}^{{tree}}")
        found = entries(Lookup(repo.objects, tip_tree[0] if tip_tree else None))
        head_tree = repo.objects.read(f"{head}^{{tree}}")
        assert head_tree is not None
        tree = write_tree(repo.objects, head_tree[0], found)
        new = write_commit(repo, tree, [tip[0]] if tip else [], "snap")
        refs.update_refs(repo, [(SNAP, new, tip[0] if tip else None)], "bench")

    def copied_index(self) -> None:
        scratch = self.path / ".git" / "scratch-index"
        shutil.copy2(self.path / ".git" / "index", scratch)
        for args in (["add", "-A"], ["write-tree"]):
            repos.git(self.path, *args, env={"GIT_INDEX_FILE": str(scratch)})

    def stash_create(self) -> None:
        repos.git(self.path, *repos.WHO, "stash", "create")

    def seed(self) -> None:
        own_index.seed_index(Repo.find(str(self.path)), force=True)


ROWS = "git_status list_changes whole_snapshot known_paths copied_index stash_create seed".split()
SIZES = [300, 20_000, *([100_000] if os.environ.get("LONG") else [])]
BUDGETS = dict.fromkeys(("list changes", "whole snapshot"), Budget(5, 1.3, "git status"))


@pytest.mark.parametrize("files", SIZES)
def test_snapshot(files: int) -> None:
    work = Work(repos.generated(files))
    repos.git(work.path, "status")
    work.seed()
    rows = table(f"snapshots, {files} files, 200 untracked, 5000 ignored")
    for count in range(int(os.environ.get("ROUNDS", "9")) + 1):
        for row in ROWS:
            work.edit()
            cost, name = timed(getattr(work, row)), row.replace("_", " ")
            if count:
                rows.add(name, cost, BUDGETS.get(name))
        rows.starts(work.path)


def timed(work: Callable[[], None]) -> Cost:
    """What a piece of work in this process costs, with the processes it starts."""

    def used() -> float:
        both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, both))

    wall, cpu = time.perf_counter(), used()
    work()
    return Cost(time.perf_counter() - wall, used() - cpu)


def test_the_number_of_git_processes_does_not_depend_on_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = Work(repos.generated(300))
    work.seed()
    counts = []
    for changed in (1, 290):
        for n in range(changed):
            repos.write(repos.file(work.path, n), f"{changed} {time.time()}\n")
        log = tmp_path / f"log{changed}"
        code = (
            "import sys; from bench.test_snapshot import Path, Work\n"
            "Work(Path(sys.argv[1])).whole_snapshot()"
        )
        env = {**os.environ, "GITCP_TRACE": str(log), "PYTHONPATH": str(Path(__file__).parents[1])}
        subprocess.run([sys.executable, "-c", code, str(work.path)], env=env, check=True)
        counts.append([line for line in log.read_text().splitlines() if " git: " in line])
    with capsys.disabled():
        print(f"\n{len(counts[0])} git processes for a whole snapshot")
    assert len(counts[0]) == len(counts[1])
