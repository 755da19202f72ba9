"""Clones that push checkpoints to one repository at the same time: all of them arrive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.checkpoints import writing
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.checkpoints import V1, git, keep, session, size_of_objects, tree
from tests.support.paths import TOP

LONG = bool(os.environ.get("LONG"))
CLONES, EACH = (8, 25) if LONG else (4, 4)
# 100 checkpoints of a session that grows to 20 MB; the fewer, the dearer the tails.
CHECKPOINTS, RATIO = (100, 1.4) if LONG else (30, 1.7)
CLIENT = """
import sys
from gitcp.git.repo import Repo
from gitcp.checkpoints.share import places, sync
from gitcp.checkpoints import writing as committed_write
from gitcp.git.objects import Objects

clone, each = int(sys.argv[1]), int(sys.argv[2])
repo = Repo.find()
with Objects(repo):
    for n in range(each):
        cid = "%02x%010x" % (n, clone)
        metadata = {"strategy": "manual-commit", "files_touched": ["f"]}
        session = {"session_id": f"s{clone}", "metadata": metadata}
        committed_write.write_sessions(repo, [(cid, session)])
        # All clones extend this one: the same index is taken again and again.
        committed_write.write_sessions(repo, [("ff" * 6, {"session_id": f"s{clone}-{n}"})])
        for place in places.find_places(repo, "origin"):
            sync.push_store(repo, place, 300)
"""


@pytest.mark.thorough
def test_every_checkpoint_of_every_clone_arrives(template: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(template), str(bare))
    running = []
    for n in range(CLONES):
        git("clone", "-q", str(bare), str(tmp_path / f"c{n}"))
        env = {**os.environ, "PYTHONPATH": str(TOP)}
        argv = [sys.executable, "-c", CLIENT, str(n), str(EACH)]
        running.append(subprocess.Popen(argv, env=env, cwd=tmp_path / f"c{n}"))
    assert [p.wait() for p in running] == [0] * CLONES
    names = tree(V1, bare)
    arrived = {p for p in names if p.count("/") == 2 and not p.startswith("ff/")}
    assert len(arrived) == CLONES * EACH
    sessions = [p for p in names if p.startswith("ff/") and p.endswith("/metadata.json")]
    assert len(sessions) == CLONES * EACH + 1
    assert git("fsck", "--no-dangling", cwd=bare) == ""


def test_a_growing_session_costs_close_to_its_size(repo: Path, tmp_path: Path) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    with Objects(r), live.open("wb") as f:
        for n in range(CHECKPOINTS):
            for _ in range(200 if LONG else 100):
                f.write(b'{"x":"%s"}\n' % os.urandom(500).hex().encode())
            f.flush()
            writing.write_sessions(r, [(f"{n:012x}", session("s", keep(r, "s", live)))])
    git("gc", "-q", "--prune=now")
    assert size_of_objects(r) < RATIO * live.stat().st_size / 2  # hex packs to a half
