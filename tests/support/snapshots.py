"""A snapshot and its oracle: what `git add -A` gives in a scratch index over HEAD."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from gitcp.git import decode_name
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.snapshot import own_index
from gitcp.record.snapshot.scan import resolve_changes, scan_worktree, write_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record.snapshot.scan import Scan

Listing = dict[str, tuple[str, str]]


def both_ways(cases: Iterable[str]) -> pytest.MarkDecorator:
    """Each case with an index of ours that was kept, and with a new one."""
    pairs = [(case, seeded) for seeded in (True, False) for case in cases]
    ids = [f"{case}-index {'kept' if seeded else 'new'}" for case, seeded in pairs]
    return pytest.mark.parametrize(("case", "seeded"), pairs, ids=ids)


def sh(script: str, cwd: Path | None = None) -> str:
    """Run a script of sh that must succeed; return what it printed."""
    argv = ["sh", "-euc", script]
    done = subprocess.run(argv, cwd=cwd, check=True, capture_output=True)
    return decode_name(done.stdout)  # git says names that are not UTF-8 as they are


def git(*args: str, env: dict[str, str] | None = None) -> bytes:
    """Run git in the current directory; return what it printed."""
    both = {**os.environ, **(env or {})}
    return subprocess.run(["git", *args], check=True, capture_output=True, env=both).stdout


def seed() -> None:
    own_index.seed_index(Repo.find(), force=True)


def take() -> tuple[str, Scan]:
    """(tree, scan) of the current worktree, stored."""
    repo = Repo.find()
    with Objects(repo):
        scan = scan_worktree(repo)
        entries = resolve_changes(repo.objects, scan, write=True)
        found = repo.objects.read(f"{scan.head}^{{tree}}") if scan.head else None
        tree = write_tree(repo.objects, found[0] if found else None, entries)
    return tree, scan


def listing(tree: str) -> Listing:
    """path -> (mode, oid) of every file, each of them checked to be there."""
    found, blobs_there = {}, []
    for line in git("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, kind, oid = head.decode().split()
        if kind == "blob":
            blobs_there.append(f"{oid} blob")
        found[decode_name(path)] = (mode, oid)
    asked = "".join(f"{one[:-5]}\n" for one in blobs_there).encode()
    batch = ["git", "cat-file", "--batch-check=%(objectname) %(objecttype)"]
    answers = subprocess.run(batch, input=asked, check=True, capture_output=True).stdout
    assert answers.decode().splitlines() == blobs_there
    return found


def oracle(scratch: Path) -> Listing:
    """What `git add -A` makes of the worktree in a fresh index over HEAD: path -> (mode, oid)."""
    scratch.unlink(missing_ok=True)
    env = {"GIT_INDEX_FILE": str(scratch)}
    # Before the first commit there is nothing to begin with.
    subprocess.run(["git", "read-tree", "HEAD"], capture_output=True, env={**os.environ, **env})
    git("-c", "core.fsmonitor=false", "add", "-A", env=env)
    found = {}
    for line in git("ls-files", "--stage", "--full-name", "-z", ":/", env=env).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, oid, _ = head.decode().split()
        found[decode_name(path)] = (mode, oid)
    return found


def footprint(top: Path) -> dict[str, object]:
    """Everything of a repository but what is ours, the objects and the dates of reading."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(os.fsencode(top)):
        inside = os.path.basename(folder) == b".git"
        folders[:] = [f for f in folders if not (inside and f in (b"gitcp", b"objects"))]
        for name in files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            times = (st.st_mtime_ns, st.st_ctime_ns, st.st_ino, st.st_mode, st.st_size)
            small = stat.S_ISREG(st.st_mode) and st.st_size < 1 << 20 and os.access(path, os.R_OK)
            data = Path(os.fsdecode(path)).read_bytes() if small else b""
            # Reading a split index renews the date of its shared part: git's own doing.
            shared = name.startswith(b"sharedindex.")
            found[os.fsdecode(path)] = data if shared else (times, data)
    return found


def assert_exact(top: Path, expected: Listing | None = None) -> Scan:
    """Our tree is the oracle's, or the expected one, and only our own files have changed."""
    before = footprint(top)
    tree, scan = take()
    assert footprint(top) == before
    ours = listing(tree)
    assert ours == (oracle(top.parent / "scratch-index") if expected is None else expected)
    return scan


def omitted(scan: Scan) -> dict[str, str]:
    return {item["path"]: item["reason"] for item in scan.omitted}
