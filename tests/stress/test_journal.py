"""Kill -9 at each call by which the journal is written: no line is lost, and none names an object
that git does not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.git.files import exclusive
from gitcp.git.repo import Repo
from gitcp.record.journal import LARGEST, credit
from gitcp.record.journal.line_kinds import LookLine, build_edit, dump_lines, parse_lines
from gitcp.text import ids
from tests.support.harness import World
from tests.support.paths import TOP

HERE = TOP / "tests" / "stress"
PATHS = ["before", "first", "second"]


def test_a_kill_leaves_the_lines_that_waited_whole_or_out(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTS", str(tmp_path / "calls"))
    path, head = world.path / ".git/gitcp/journal", world.git("rev-parse", "HEAD")
    old = build_edit("before", None, None, ids.PERSON, "between", 0)
    looks = [LookLine({"look": at, "base": head}) for at in range(1, 1200)]
    before = dump_lines([old.having(base=head), *looks])
    assert len(before) > LARGEST
    states, number = list[tuple[int, bool]](), 0
    while True:
        number += 1
        path.write_bytes(before)
        path.with_name("journal-checked").unlink(missing_ok=True)
        argv = [sys.executable, "-I", f"{HERE}/faults.py", "0", str(number)]
        done = subprocess.run([*argv, f"{HERE}/journal_writer.py"], cwd=world.path, check=False)
        lines = parse_lines(path.read_bytes())
        edits = credit.list_edits(lines)
        assert [edit.path for edit in edits] == PATHS[: len(edits)] and edits
        for edit in edits[1:]:
            assert edit.after
            world.git("cat-file", "-e", edit.after[1])
        repo = Repo.find(str(world.path))
        with exclusive(repo, f"journal-{repo.worktree_hash}", timeout=0):
            states.append((len(edits), len(lines) < len(looks)))
        if done.returncode == 0:
            break
        assert done.returncode == -9
    assert set(states) == {(1, False), (3, False), (3, True)}
    assert states == sorted(states) and states[-1] == (3, True)
