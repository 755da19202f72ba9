"""A snapshot leaves no footprint, and none of itself when it is killed or disturbed."""

# ruff: noqa: E501 (a case is a line of sh)
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitcp.git.objects import Lookup, Objects
from gitcp.git.repo import Repo
from gitcp.record.snapshot.scan import resolve_changes, scan_worktree, write_tree
from tests.support.paths import TOP
from tests.support.snapshots import assert_exact, footprint, git, listing, seed, sh, take

PIPE = (
    "gitcp-list-changes | gitcp-write-blobs | gitcp-write-tree --base=HEAD"
    " | gitcp-write-commit -m snap | gitcp-update-ref refs/heads/snap"
)


def test_the_pipe_leaves_no_footprint_but_its_ref(repo: Path) -> None:
    sh("echo 2 >>README.md; git add .; echo 3 >>README.md; echo n >n; touch src/app.py")
    before = footprint(repo)
    sh(f'PATH="{TOP}/bin:$PATH"; {PIPE}')
    after = footprint(repo)
    ref = {str(repo / f".git/{place}refs/heads/snap") for place in ("", "logs/")}
    assert set(after) - set(before) == ref
    assert {path: what for path, what in after.items() if path not in ref} == before


def test_hooks_of_the_person_do_not_run(repo: Path) -> None:
    sh(
        "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ran\\nexit 1\\n' >.git/hooks/post-index-change"
    )
    sh("cp .git/hooks/post-index-change .git/hooks/reference-transaction; chmod +x .git/hooks/*")
    sh("printf 'a\\r\\n' >crlf; git add crlf; git -c core.hooksPath=/ commit -qm 1; rm -f ran")
    sh("git config core.autocrlf true; printf 'b\\r\\n' >>crlf")
    sh(f'echo 2 >>README.md; PATH="{TOP}/bin:$PATH"; {PIPE}')
    assert not Path("ran").exists()


STEPS = {
    "while git filters": "sleep 100",
    "when a blob is stored": "cat; kill -9 $(cat ../pid)",
}


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_snapshot_leaves_nothing_in_the_object_database(step: str, repo: Path) -> None:
    sh(f"git config filter.slow.clean 'touch ../there; {STEPS[step]}'")
    sh("mkdir -p .git/info; echo '*.s filter=slow' >.git/info/attributes")
    sh("for i in 1 2 3; do echo $i >$i.s; echo $i >$i; done")
    before = sorted(Path(".git/objects").rglob("*"))
    code = (
        "from tests.support.snapshots import take; import os\n"
        "open('../pid', 'w').write(str(os.getpid())); take()"
    )
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    child = subprocess.Popen([sys.executable, "-c", code], env=env, start_new_session=True)
    while not Path("../there").exists() and child.poll() is None:
        os.sched_yield()
    if "sleep" in STEPS[step] and child.returncode is None:
        os.killpg(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    left = [p for p in Path(".git/objects").rglob("*") if p not in before and p.is_file()]
    assert not [p for p in left if p.name.startswith("tmp_")]
    for path in left:  # plain files that were stored before are whole
        assert git("cat-file", "-t", path.parent.name + path.name) == b"blob\n"
    sh("git config --unset filter.slow.clean")
    assert_exact(repo)


@pytest.mark.parametrize("delay", range(6))
def test_a_pipe_killed_at_any_time_leaves_no_half_made_ref(delay: int, repo: Path) -> None:
    sh("for i in $(seq 30); do echo $i >f$i; done; git branch snap")
    env = {**os.environ, "PATH": f"{TOP}/bin:{os.environ['PATH']}"}
    child = subprocess.Popen(["sh", "-c", PIPE], env=env, start_new_session=True, stdout=-3)
    try:
        child.wait(timeout=delay * 0.06)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not list(Path(".git/objects").rglob("tmp_*"))
    git("fsck", "--strict", "--connectivity-only", "refs/heads/snap")
    assert set(listing("snap")) >= set(listing("HEAD"))


def test_objects_of_a_conversion_that_failed_are_not_taken_over(repo: Path) -> None:
    sh("mkdir -p .git/info; echo '*.s filter=no' >.git/info/attributes; echo 1 >a.s; echo 2 >b.s")
    sh("git config filter.no.required true; git config filter.no.clean 'sed /2/q1'")
    assert take()[1].omitted == [{"path": "b.s", "reason": "unconverted"}]
    oids = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").decode().split()
    [one, two] = (
        git("hash-object", "--no-filters", name).decode().strip() for name in ("a.s", "b.s")
    )
    assert one in oids and two not in oids
    assert not list(Path(".git/gitcp/tmp").iterdir())


class Meddling(Objects):
    """Objects that let something happen before a file is read."""

    def __init__(self, repo: Repo, script: str) -> None:
        super().__init__(repo)
        self.script = script

    def write_file(self, path: bytes) -> str:
        script, self.script = self.script, ""
        sh(script)
        return super().write_file(path)


MEDDLING = {
    "a file that grows": ("echo 1 >n", "echo 2 >>n", "n"),
    "a file that shrinks": ("echo 12345 >n", ": >n", "n"),
    "a file that is replaced": ("echo 1 >n", "echo 2 >m.tmp; mv m.tmp n", "n"),
    "a file that becomes a link": ("echo 1 >n", "ln -sf README.md n", "n"),
    "a file that vanishes": ("echo 1 >n", "rm n", ""),
    "a file that becomes a directory": ("echo 1 >n", "rm n; mkdir n", ""),
    "a directory that vanishes": ("mkdir d; echo 1 >d/n", "rm -r d", ""),
    "a tracked file that vanishes": ("echo 2 >>README.md", "rm README.md", ""),
}


@pytest.mark.parametrize("case", MEDDLING)
def test_while_it_is_read(case: str, repo: Path) -> None:
    first, then, left = MEDDLING[case]
    sh(first)
    repo_ = Repo.find()
    with Meddling(repo_, then) as objects:
        scan = scan_worktree(repo_)
        entries = resolve_changes(objects, scan, write=True)
        head = objects.read("HEAD^{tree}")
        assert head is not None
        tree = write_tree(objects, head[0], entries)
    found = listing(tree)
    missing = {"README.md"} if case.startswith("a tracked") else set()
    assert set(found) == {*listing("HEAD"), *left.split()} - missing
    assert_exact(repo)


def test_a_filtered_file_that_vanishes_while_git_reads(repo: Path) -> None:
    sh("mkdir -p .git/info; echo '*.s filter=rm' >.git/info/attributes")
    sh("git config filter.rm.clean 'rm -f b.s; cat'; echo 1 >a.s; echo 2 >b.s")
    assert set(listing(take()[0])) == {*listing("HEAD"), "a.s"}


class Counting(Objects):
    """Objects that count the files they read."""

    read_files = 0

    def write_file(self, path: bytes) -> str:
        self.read_files += 1
        return super().write_file(path)


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is hashed now count as old enough to be remembered."""
    later = time.time_ns() + 60 * 10**9
    monkeypatch.setattr("gitcp.record.snapshot.scan.time.time_ns", lambda: later)


def stored(write: bool = True, is_known: bool = False) -> int:
    """Resolve a scan; return how many files were read to be stored."""
    repo = Repo.find()
    with Counting(repo) as objects:
        tip = Lookup(objects, git("rev-parse", "tip^{tree}").decode().strip()) if is_known else None
        resolve_changes(objects, scan_worktree(repo), write=write, find_held=tip)
        return objects.read_files


def test_a_file_that_stayed_as_it_was_is_not_read_again(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("echo 1 >new; echo 2 >>README.md; echo 3 >other")
    settled(monkeypatch)
    assert [stored(), stored()] == [3, 0]
    sh("echo 4 >other")
    assert stored() == 1
    assert_exact(repo)


def test_a_file_that_just_changed_is_read_again(repo: Path) -> None:
    sh("echo 1 >new")
    assert [stored(), stored()] == [1, 1]


def test_what_was_pruned_is_stored_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh("echo 1 >new")
    settled(monkeypatch)
    assert [stored(write=False), stored(), stored()] == [0, 1, 0]
    sh("git gc -q --prune=now")
    assert stored() == 0
    sh("rm -f .git/objects/pack/*.keep; git gc -q --prune=now")
    assert stored() == 1
    assert_exact(repo)


def test_what_a_ref_holds_in_a_pack_is_not_stored_again(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("echo 1 >new; git add .; git commit -qm tip; git branch tip; git reset -q HEAD~; git gc -q")
    settled(monkeypatch)
    stored(write=False)
    assert [stored(is_known=True), stored()] == [0, 1]


@pytest.mark.thorough
@pytest.mark.linux
def test_a_big_file_under_the_cap_is_streamed(repo: Path) -> None:
    seed()
    sh("git config gitcp.max-file-size 1g; truncate -s 120M big")
    # VmHWM is of this program alone; ru_maxrss begins with what pytest had when it forked.
    code = (
        "from tests.support.snapshots import take; print(take()[0]);"
        "print(*(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')))"
    )
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    out = subprocess.check_output([sys.executable, "-c", code], env=env, text=True)
    tree, most = out.split()
    assert int(most) < (100 << 10)
    assert listing(tree)["big"][1] == git("hash-object", "big").decode().strip()


def test_what_a_killed_snapshot_left_in_our_directory_goes_after_a_day(repo: Path) -> None:
    seed()
    old = [
        "tmp/git-1-x/ab/cd",
        "tmp/git-1-x/index",
        "tmp/1-2-3",
        "cache/index.77",
        "cache/index.77.lock",
    ]
    old += [
        "cache/stat-cache.77",
        "cache/asked.77",
        "transcript/sid.json.77",
        "transcript/sid.redacted.77",
    ]
    young = ["tmp/git-2-y/ab/cd", "tmp/1-2-4", "cache/index.78"]
    ours = [
        "cache/index",
        "turn/sid",
        "cache/stat-cache",
        "transcript/sid.json",
        "transcript/sid.redacted",
    ]
    for name in (*old, *young, *ours[1:]):
        path = Path(".git/gitcp", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    sh(
        "touch -d '25 hours ago' .git/gitcp/tmp/git-1-x .git/gitcp/tmp/1-2-3 .git/gitcp/cache/index.77*"
    )
    sh("touch -d '25 hours ago' .git/gitcp/cache/*.77 .git/gitcp/transcript/sid.*")
    sh("touch -d '25 hours ago' .git/gitcp/cache/stat-cache .git/gitcp/turn .git/gitcp/turn/sid")
    seed()
    assert not [name for name in old if Path(".git/gitcp", name).exists()]
    assert [name for name in (*young, *ours) if not Path(".git/gitcp", name).exists()] == []
