"""Nothing that the person's index says, or is, hides an edit from a snapshot."""

# ruff: noqa: E501 (a case is a line of sh)
from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitcp.git.gitdir import index_file
from gitcp.git.repo import Repo
from gitcp.record import snapshot
from gitcp.record.snapshot import own_index
from tests.support.harness import World
from tests.support.snapshots import assert_exact, both_ways, git, listing, oracle, seed, sh, take

TURNS = 20 if os.environ.get("LONG") else 6  # edits in one second each
CASES = {
    "assume-unchanged": "git update-index --assume-unchanged README.md; echo 2 >>README.md",
    "assume-unchanged and deleted": "git update-index --assume-unchanged README.md; rm README.md",
    "skip-worktree": "git update-index --skip-worktree README.md; echo 2 >>README.md",
    "skip-worktree and deleted": "git update-index --skip-worktree README.md; rm README.md",
    "both flags": (
        "git update-index --skip-worktree README.md; git update-index --assume-unchanged README.md;"
        "echo 2 >>README.md"
    ),
    "intent-to-add": "echo n >n; git add -N n",
    "intent-to-add, then deleted": "echo n >n; git add -N n; rm n",
    "a split index": "git update-index --split-index; echo 2 >>README.md; git add .; echo >>src/app.py",
    "the untracked cache": "git update-index --force-untracked-cache; git status; echo 1 >src/new",
    "core.fsmonitor with a hook that lies": (
        "printf '#!/bin/sh\\nprintf \"1\\\\0\"\\n' >../liar; chmod +x ../liar;"
        'git config core.fsmonitor "$PWD/../liar"; git status; git update-index --fsmonitor;'
        "git update-index --fsmonitor-valid README.md; gitcp_seed; echo 2 >>README.md; echo 1 >src/new; test -z \"$(git status --short -uno)\""
    ),
    "core.ignoreStat": "git config core.ignoreStat true; echo 2 >>README.md; git add .; echo >>README.md",
    "status.showUntrackedFiles=no": "git config status.showUntrackedFiles no; echo n >n",
    "status.renames": "git config status.renames copies; cp README.md copy; mv src/app.py app.py",
    "a stale index.lock": "touch .git/index.lock; echo 2 >>README.md; echo 1 >new",
    "a merge conflict": (
        "git checkout -qb o; echo o >README.md; echo n >n; git add .; git commit -qm o; git checkout -q main;"
        "echo m >README.md; git commit -qam m; git merge o || :; echo x >>src/app.py"
    ),
    "a conflict of modify and delete": (
        "git checkout -qb o; git rm -q README.md; git commit -qm o; git checkout -q main;"
        "echo m >README.md; git commit -qam m; git merge o || :"
    ),
    "a conflict of file and directory": (
        "git checkout -qb o; mkdir d; echo 1 >d/f; git add .; git commit -qm o; git checkout -q main;"
        "echo m >d; git add .; git commit -qam m; git merge o || :"
    ),
    "a rebase that stopped": (
        "git checkout -qb o HEAD~; echo o >README.md; git commit -qam o; git checkout -q main;"
        "echo m >README.md; git commit -qam m; git rebase o || :; echo y >>src/app.py"
    ),
    "a cherry-pick that stopped": (
        "git checkout -qb o HEAD~; echo o >README.md; git commit -qam o; git checkout -q main;"
        "echo m >README.md; git commit -qam m; git cherry-pick o || :"
    ),
    "detached HEAD": "git checkout -q --detach HEAD~; echo 1 >n",
    "an orphan branch": "git checkout -q --orphan new; echo 1 >n; rm README.md",
    "an orphan branch with an empty index": "git checkout -q --orphan new; git rm -rq --cached .",
    "reset to an older commit": "git reset -q --hard HEAD~; echo 1 >n",
    "a mixed reset": "git reset -q HEAD~; echo 1 >n",
    "a soft reset": "git reset -q --soft HEAD~",
    "another branch": "git switch -qc o HEAD~; echo 1 >o; git add .; git commit -qm o; git switch -q main",
    "stashed": "echo 2 >>README.md; echo n >n; git stash -q -u; echo 1 >m",
    "read-tree without the worktree": "git read-tree HEAD~",
    "no index at all": "rm .git/index; echo 2 >>README.md",
    "an ignored file of an older HEAD that came back": (
        "echo '*.o' >.gitignore; echo 1 >a.o; git add -f .; git commit -qm o; gitcp_seed;"
        "git reset -q --hard HEAD~; echo '*.o' >.gitignore; echo 2 >a.o"
    ),
    "a file of an older HEAD that came back": (
        "echo 1 >a; git add .; git commit -qm o; gitcp_seed; git reset -q --hard HEAD~; echo 2 >a"
    ),
    "a file that only a newer HEAD has, and ignores": (
        "gitcp_seed; echo '*.o' >.gitignore; echo 1 >a.o; git add -f .; git commit -qm o"
    ),
}  # fmt: skip


def run(script: str) -> None:
    before, marker, then = script.partition("gitcp_seed;")
    sh(before if marker else "")
    seed()
    sh(then if marker else before)


@both_ways(CASES)
def test_exact_with(case: str, seeded: bool, repo: Path) -> None:
    run(CASES[case]) if seeded else sh(CASES[case].replace("gitcp_seed;", ""))
    assert_exact(repo)
    if snapshot.has_head(Repo.find()):
        assert git("diff-index", "--cached", "--ita-visible-in-index", "HEAD") == b""
    if not (repo / ".git/index.lock").exists():
        sh("git add -A; git commit -qm after --allow-empty")
        assert_exact(repo)


def test_an_index_is_head_s_until_something_is_staged(repo: Path) -> None:
    for staged in ("echo 2 >n; git add n", "echo 3 >m; git add -N m", "git rm -q README.md"):
        sh("git add .; git commit -qm all --allow-empty")
        assert snapshot.has_head(Repo.find()), staged
        sh(staged)
        assert not snapshot.has_head(Repo.find()), staged


def test_exact_with_an_unborn_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sh("git init -q r")
    monkeypatch.chdir("r")
    assert assert_exact(tmp_path / "r", {}).head is None
    sh("echo 1 >a; mkdir d; echo 2 >d/b; git add a; echo 3 >c; echo '*.o' >.gitignore; echo >x.o")
    scan = assert_exact(tmp_path / "r")
    assert (scan.head, scan.branch) == (None, "main" if scan.branch == "main" else "master")


def test_detached_head_has_no_branch(repo: Path) -> None:
    assert take()[1].branch == "main"
    git("checkout", "-q", "--detach")
    assert take()[1].branch is None


def test_a_staged_ignored_file_is_kept_where_add_drops_it(repo: Path) -> None:
    sh("echo '*.o' >.gitignore; echo 1 >a.o; echo 2 >b.o; git add -f a.o; echo 3 >>a.o")
    tree, _ = take()
    oid = git("hash-object", "a.o").decode().strip()
    assert listing(tree) == oracle(repo.parent / "i") | {"a.o": ("100644", oid)}


def test_a_staged_ignored_file_is_kept_with_an_unborn_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sh("git init -q r; cd r; echo '*.o' >.gitignore; echo 1 >a.o; git add -f a.o")
    monkeypatch.chdir("r")
    assert set(listing(take()[0])) == {".gitignore", "a.o"}


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("late", [False, True], ids=["after the seed", "before the seed"])
def test_same_size_and_a_restored_date_within_a_second_are_seen(
    version: int, late: bool, repo: Path
) -> None:
    sh("git config core.trustctime false; git config core.checkStat minimal; mkdir -p d/e")
    sh(f"echo 1 >d/e/f; echo 2 >d/e/file; git update-index --index-version {version}")
    before = Path("README.md").read_bytes()
    os.utime("README.md", (10**9, 10**9))
    sh("git add -A; git commit -qm old --allow-empty")
    if not late:
        seed()
    Path("README.md").write_bytes(b"X" + before[1:])
    os.utime("README.md", (10**9, 10**9))
    if late:
        seed()
    tree, _ = take()
    assert listing(tree)["README.md"][1] == git("hash-object", "README.md").decode().strip()
    assert git("ls-files", "-s", env={"GIT_INDEX_FILE": ".git/gitcp/cache/index"}).count(b"\n") == 5


def test_same_size_and_a_restored_date_are_seen_by_the_time_of_change(repo: Path) -> None:
    sh("git config core.trustctime false; git config core.checkStat minimal")
    before = Path("README.md").read_bytes()
    os.utime("README.md", (10**9, 10**9))
    sh("git add -A; git commit -qm old --allow-empty")
    seed()
    path = Path(".git/gitcp/cache/index")  # as if the edit came an hour after the commit
    data = bytearray(path.read_bytes())
    for at, changed, _ in index_file.list_entries(data, "sha1"):
        data[at : at + 4] = (changed - 3600).to_bytes(4)
        data[at + 36 : at + 40] = os.stat(bytes(data[at + 62 :]).split(b"\0")[0]).st_size.to_bytes(
            4
        )
    path.write_bytes(data)
    assert not take()[1].changes
    Path("README.md").write_bytes(b"X" + before[1:])
    os.utime("README.md", (10**9, 10**9))
    assert_exact(repo)


@pytest.mark.parametrize("turn", range(TURNS))
def test_an_edit_in_the_second_of_the_commit_is_seen(turn: int, repo: Path) -> None:
    sh(f"echo {turn:04} >f; git add f; git commit -qm {turn}")
    seed()
    sh("echo abcd >f")
    assert_exact(repo)


def test_an_edit_between_two_scans_of_a_second_is_seen(repo: Path) -> None:
    seed()
    for turn in range(TURNS):
        Path("README.md").write_text(f"{turn:04}\n")
        Path("new").write_text(f"{turn:04}\n")
        assert_exact(repo)


def test_our_index_that_is_broken_is_made_anew(repo: Path) -> None:
    seed()
    Path(".git/gitcp/cache/index").write_bytes(b"DIRC nonsense")
    sh("echo 2 >>README.md")
    assert_exact(repo)


def test_an_index_that_is_stale_is_seeded_at_the_next_occasion(repo: Path) -> None:
    sh("for i in $(seq 300); do echo $i >f$i; done")
    seed()
    assert not own_index.seed_index(Repo.find())
    sh("git add .; git commit -qm many; touch -d '1 hour ago' .git/index")
    took, scan = take()
    assert not scan.changes or all(not c.sure for c in scan.changes.values())
    assert listing(took) == oracle(repo.parent / "i")
    assert own_index.seed_index(Repo.find())
    assert not take()[1].changes


SPARSE = "mkdir -p in out/deep; echo 1 >in/f; echo 2 >out/f; echo 3 >out/deep/g; git add .; git commit -qm 1;"
SPARSES = {
    "a cone": "git sparse-checkout set --cone in",
    "patterns": "git sparse-checkout set --no-cone in '/*.md'",
    "a sparse index": "git sparse-checkout set --cone --sparse-index in",
}


@pytest.mark.parametrize("late", [False, True], ids=["sparse before", "sparse since"])
@pytest.mark.parametrize("kind", SPARSES)
def test_what_sparse_checkout_leaves_out_is_not_deleted(kind: str, late: bool, repo: Path) -> None:
    sh(SPARSE)
    if late:
        seed()
    sh(SPARSES[kind])
    if not late:
        seed()
    sh("echo 2 >>in/f; echo new >in/new; rm -f README.md")
    want = {**listing("HEAD"), **{p: e for p, e in listing(take()[0]).items() if "in/" in p}}
    del want["README.md"]
    assert want["in/f"] != listing("HEAD")["in/f"]
    assert_exact(repo, want)


def test_an_edit_outside_the_sparse_cone_is_kept(repo: Path) -> None:
    sh(SPARSE + SPARSES["a cone"])
    seed()
    sh("mkdir -p out; echo edited >out/f; git config sparse.expectFilesOutsideOfPatterns true")
    oid = git("hash-object", "out/f").decode().strip()
    assert listing(take()[0]) == {**listing("HEAD"), "out/f": ("100644", oid)}


def test_sparse_checkout_switched_off_hides_nothing(repo: Path) -> None:
    sh(SPARSE + SPARSES["a cone"])
    seed()
    sh("git sparse-checkout disable; echo edited >out/f; rm out/deep/g")
    assert_exact(repo)


def test_sparse_checkout_widened_hides_nothing(repo: Path) -> None:
    sh(SPARSE + SPARSES["a cone"])
    seed()
    sh("git sparse-checkout add out; echo edited >out/f; rm out/deep/g")
    assert_exact(repo)


@pytest.mark.parametrize("old", [True, False])
def test_an_index_of_files_too_young_to_believe_is_made_anew_later(repo: Path, old: bool) -> None:
    for n in range(250):
        Path(f"file{n}").write_text("x\n")
        if old:  # by their date, but changed just now
            os.utime(f"file{n}", (1e9, 1e9))
    sh("git add .; git commit -q -m x")
    here = Repo.find()
    own_index.seed_index(here, force=True)
    assert own_index.seed_index(here) is True


def test_files_of_the_second_of_their_checkout_are_believed_from_a_later_prompt_on(
    world: World,
) -> None:
    for n in range(250):
        (world.path / f"file{n}").write_text("x\n")
    world.commit()
    mark = world.path / ".git" / "gitcp" / "cache" / "index-stale"
    a = world.agent("s")
    a.prompt("begin")  # makes our index in the very second
    assert mark.exists()
    a.prompt("go on")
    assert mark.exists()
    until = time.time() + 30
    while mark.exists() and time.time() < until:
        os.utime(mark, (1e9, 1e9))
        a.prompt("and on")
    assert not mark.exists()
