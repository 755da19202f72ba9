"""A snapshot is exact in every kind of repository, and around repositories inside it."""
# ruff: noqa: E501 (a case is a line of sh)

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.snapshots import (
    assert_exact,
    both_ways,
    git,
    listing,
    omitted,
    oracle,
    seed,
    sh,
    take,
)

LOCAL = "git -c protocol.file.allow=always"
SUBMODULE = f"git init -q ../s; (cd ../s; git commit -qm 1 --allow-empty; git commit -qm 2 --allow-empty); {LOCAL} submodule --quiet add ../s sub; git commit -qm sub;"
CASES = {
    "a submodule as it was": (SUBMODULE, ""),
    "a submodule moved": (SUBMODULE, "git -C sub checkout -q HEAD~"),
    "a submodule moved and dirty": (SUBMODULE, "git -C sub checkout -q HEAD~; echo 1 >sub/new"),
    "a dirty submodule": (SUBMODULE, "echo 1 >sub/new"),
    "a submodule that is not initialised": (SUBMODULE + "git submodule --quiet deinit -f sub", ""),
    "a submodule deleted": (SUBMODULE, "rm -rf sub"),
    "a submodule staged by the person": ("", SUBMODULE.replace("git commit -qm sub;", "")),
    "a submodule that became a directory": (SUBMODULE, "rm -rf sub; mkdir sub; echo 1 >sub/f"),
    "a submodule that became a file": (SUBMODULE, "rm -rf sub; echo 1 >sub"),
    "a directory that became a submodule": (
        "",
        "rm -rf src; git init -q src; git -C src commit -qm 1 --allow-empty",
    ),
    "a file that became a submodule": (
        "",
        "rm README.md; git init -q README.md; git -C README.md commit -qm 1 --allow-empty",
    ),
    "submodule.ignore=all": (SUBMODULE + "git config submodule.sub.ignore dirty", "git -C sub checkout -q HEAD~"),
    "a nested repository with a commit": (
        "",
        "git init -q n; cd n; echo 1 >f; git add .; git commit -qm 1; echo 2 >g",
    ),
    "a nested repository with a commit, in a new directory": (
        "",
        "mkdir -p a/b; echo 1 >a/f; git init -q a/b/n; cd a/b/n; git commit -qm 1 --allow-empty",
    ),
    "an ignored nested repository": ("echo n >.gitignore", "git init -q n; git -C n commit -qm 1 --allow-empty"),
}  # fmt: skip


@both_ways(CASES)
def test_exact_with(case: str, seeded: bool, repo: Path) -> None:
    before, then = CASES[case]
    if before:
        sh(f"{before} \n git add -A; git commit -qm before --allow-empty")
    if seeded:
        seed()
    sh(then)
    assert_exact(repo)
    sh("git add -A 2>/dev/null; git commit -qm after --allow-empty")
    assert_exact(repo)


@pytest.mark.parametrize(
    "script",
    [
        "mkdir d; echo 1 >d/a; git add .; git commit -qm d; rm d/a",
        "mkdir d; echo 1 >d/a; git add .; git commit -qm d; echo 2 >>d/a; echo 3 >d/new",
        "git rm -rq --cached src; git commit -qm 1; mkdir d; mv src/* d; rmdir src; mv d src",
    ],
)
def test_exact_where_a_repository_begins_in_a_directory_our_index_does_not_know(
    script: str, repo: Path
) -> None:
    seed()
    sh(script)
    inside = "d" if Path("d").exists() else "src"
    sh(f"git init -q {inside}; git -C {inside} commit -qm nested --allow-empty")
    assert_exact(repo)


def test_a_nested_repository_without_a_commit_is_left_out(repo: Path) -> None:
    sh("echo 1 >f")
    want = oracle(repo.parent / "i")
    sh("git init -q n; echo 1 >n/f; mkdir d; git init -q d/n")
    assert omitted(assert_exact(repo, want)) == dict.fromkeys(("n", "d/n"), "nested-repository")


def test_a_nested_repository_that_is_broken_is_not_taken_for_ours(repo: Path) -> None:
    sh("git init -q n; git -C n commit -qm 1 --allow-empty; echo gone >n/.git/HEAD")
    tree, scan = take()
    assert listing(tree) in (listing("HEAD"), {**listing("HEAD")})
    assert omitted(scan) in ({"n": "nested-repository"}, {})


def test_a_linked_worktree_inside_is_left_out(repo: Path) -> None:
    sh("git worktree add -q inside; echo 1 >inside/new; echo 1 >f")
    tree, scan = take()
    assert set(listing(tree)) == {*listing("HEAD"), "f"}
    assert omitted(scan) == {"inside": "worktree"}


def test_exact_in_a_linked_worktree(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh("git worktree add -q ../linked HEAD~; echo main >main-only")
    monkeypatch.chdir("../linked")
    seed()
    sh("echo 2 >>README.md; echo n >n")
    assert_exact(repo.parent / "linked")
    assert not (repo / ".git/gitcp/cache/index").exists()
    assert Path(repo / ".git/worktrees/linked/gitcp/cache/index").exists()


def test_exact_from_a_subdirectory(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("src")
    sh("echo 2 >>../README.md; echo n >n; rm app.py")
    assert_exact(repo)


def test_exact_with_the_git_directory_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sh("git init -q --separate-git-dir=g:x w; cd w; echo 1 >f; git add .; git commit -qm 1")
    monkeypatch.chdir("w")
    sh("echo 2 >>f; echo '* text=auto' >.gitattributes; echo 3 >n")
    assert_exact(tmp_path / "w")


def test_exact_in_a_sha256_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sh("git init -q --object-format=sha256 r")
    monkeypatch.chdir("r")
    sh("mkdir d; echo 1 >d/f; ln -s d l; echo x >u")
    assert_exact(tmp_path / "r")
    sh("git add .; git commit -qm 1; echo 2 >>d/f; echo '* text=auto' >.gitattributes; rm u")
    assert_exact(tmp_path / "r")
    assert len(take()[0]) == 64


def test_exact_with_alternates(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh("git clone -q --shared . ../shared")
    monkeypatch.chdir("../shared")
    sh("echo 2 >>README.md; echo '* text=auto' >.gitattributes; echo n >n")
    assert_exact(repo.parent / "shared")


def test_exact_in_a_shallow_clone(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh('git clone -q --depth=1 "file://$PWD" ../shallow')
    monkeypatch.chdir("../shallow")
    sh("echo 2 >>README.md; echo n >n; rm src/app.py")
    assert_exact(repo.parent / "shallow")


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_is_exact_and_fetches_nothing(
    kind: str, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("git config uploadpack.allowFilter true; git config uploadpack.allowAnySha1InWant true")
    sh(f'git clone -q --filter={kind} "file://$PWD" ../partial')
    monkeypatch.chdir("../partial")
    sh("git config remote.origin.url file:///nowhere; git config core.autocrlf true")
    sh("echo 2 >>README.md; echo n >n; rm src/app.py")
    assert_exact(repo.parent / "partial")


def test_objects_go_where_git_was_told_to_put_them(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("mkdir ../store; echo '* text=auto' >.gitattributes; echo n >n; ln -s n l")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(repo.parent / "store"))
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(repo / ".git/objects"))
    before = sorted((repo / ".git/objects").rglob("*"))
    tree, _ = take()
    assert set(listing(tree)) == {*listing("HEAD"), ".gitattributes", "n", "l"}
    assert sorted((repo / ".git/objects").rglob("*")) == before
    assert git("cat-file", "-t", tree) == b"tree\n"
