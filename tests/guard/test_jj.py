"""jj workspaces: what is recorded where no git sees the worktree, and when jj is asked at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guard.working_copies import A, Copy, jj_folder, post, pre, run
from tests.support import warm

NewCopy = Callable[[str], Copy]


def gitcp(path: Path, name: str, *args: str) -> subprocess.CompletedProcess[str]:
    return warm.run(name, *args, cwd=path)


def test_enable_installs_only_the_agents_entries_where_no_git_is(new_copy: NewCopy) -> None:
    copy = new_copy("non-colocated")
    assert (copy.path / ".claude" / "settings.local.json").exists()
    assert not (copy.path / ".git").exists()
    hooks = copy.store / "hooks"
    assert not hooks.exists() or not [p for p in hooks.iterdir() if "gitcp" in p.read_text()]
    assert ".claude" not in copy.jj("status")
    both = new_copy("colocated")
    assert "gitcp" in (both.path / ".git" / "hooks" / "post-commit").read_text()


@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
def test_a_turn_is_recorded_and_its_commits_found_at_the_next_event(
    new_copy: NewCopy, kind: str
) -> None:
    copy = new_copy(kind)
    a, _ = copy.pair()
    for path in ("a.txt", "b.txt"):
        a.write(path, "by A\n")
    a.stop()
    assert a.state["files_touched"] == ["a.txt", "b.txt"]
    base = commit_at(copy, "@-")
    assert a.state["base_commit"] == base
    (stream,) = a.state["streams"]
    assert stream["ref"] == f"refs/gitcp/streams/{base[:7]}-e3b0c4"
    copy.jj("commit", "-m", "the person takes one", "a.txt")
    copy.jj("commit", "-m", "and the other")
    a.prompt("next")
    assert a.state["base_commit"] == commit_at(copy, "@-")
    for revision, path in (("@--", "a.txt"), ("@-", "b.txt")):
        shown = gitcp(copy.path, "show", commit_at(copy, revision))
        assert shown.returncode == 0, shown
        assert A[:8] in shown.stdout and path in shown.stdout
    assert not a.state.get("files_touched")


def commit_at(copy: Copy, revision: str) -> str:
    return copy.jj("log", "--no-graph", "-r", revision, "-T", "commit_id")


def test_before_the_first_commit_the_base_is_unborn(tmp_path: Path, new_copy: NewCopy) -> None:
    new_copy("non-colocated")
    at = tmp_path / "young"
    at.mkdir()
    run(["jj", "--quiet", "git", "init", "--no-colocate"], at)
    assert gitcp(at, "enable").returncode == 0
    young = Copy(at, tmp_path / "home", kind="non-colocated")
    agent = young.agent("first")
    agent.turn("begin", {"a.txt": "1\n"})
    assert agent.state["files_touched"] == ["a.txt"]
    young.jj("commit", "-m", "first")
    agent.prompt("next")
    assert not agent.state.get("files_touched")
    young.close()


def test_a_second_workspace_is_a_worktree_of_its_own(new_copy: NewCopy) -> None:
    copy = new_copy("non-colocated")
    there = copy.path.parent / "there"
    copy.jj("workspace", "add", str(there))
    b = copy.agent("second", there, tools=True)
    b.turn("work there", {"a.txt": "there\n"})
    (stream,) = b.state["streams"]
    assert b.state["worktree_id"] == "jj-there"
    assert not stream["ref"].endswith("-e3b0c4")
    a, _ = copy.pair()
    assert pre(a).status == 0  # the same path, another working copy
    listed = gitcp(there, "list-claims").stdout
    assert A not in listed and "second" not in listed


@pytest.mark.skipif(not jj_folder(), reason="jj is not installed: .ci/get-jj provides one")
@pytest.mark.parametrize("kind", ["git", "non-colocated"])
def test_a_workspace_inside_a_worktree_is_no_part_of_its_snapshots_nor_of_a_rewind(
    new_copy: NewCopy, kind: str
) -> None:
    copy = new_copy(kind)
    nested = copy.path / "nested"
    if kind == "non-colocated":
        copy.jj("workspace", "add", str(nested))
    else:
        run(["jj", "--quiet", "git", "init", "--no-colocate", str(nested)], copy.path)
    a, _ = copy.pair()
    a.turn("one", {"a.txt": "1\n"})
    (nested / "theirs.txt").write_text("theirs\n")
    (nested / "deep").mkdir()
    (nested / "deep" / "x.txt").write_text("x\n")
    a.turn("two", {"a.txt": "2\n", "nested/by-a.txt": "a\n"})
    assert list(a.state["files_touched"]) == ["a.txt"]
    tip = a.state["streams"][0]["ref"]
    argv = ["git", f"--git-dir={copy.store}", "ls-tree", "-r", "--name-only", tip]
    paths = run(argv, copy.path).splitlines()
    assert "a.txt" in paths
    assert not [path for path in paths if path.startswith("nested")]
    points = gitcp(copy.path, "rewind", "--list", "--json").stdout.splitlines()
    oldest = [p["id"] for p in map(json.loads, points) if p["kind"] == "temporary"][-1]
    back = gitcp(copy.path, "rewind", "--files-only", "--to", oldest)
    assert (back.returncode, (copy.path / "a.txt").read_text()) == (0, "1\n"), back
    assert (nested / "theirs.txt").read_text() == "theirs\n"
    assert (nested / "by-a.txt").read_text() == "a\n"


def test_a_dry_run_of_enable_makes_nothing(tmp_path: Path, new_copy: NewCopy) -> None:
    new_copy("non-colocated")  # or there is no jj
    top = tmp_path / "fresh"
    run(["jj", "--quiet", "git", "init", "--no-colocate", str(top)], tmp_path)
    before = {p: p.stat().st_mtime_ns for p in top.rglob("*")}
    shown = gitcp(top, "enable", "--agent", "claude-code", "--dry-run")
    assert "settings.local.json" in shown.stdout, shown
    assert {p: p.stat().st_mtime_ns for p in top.rglob("*")} == before
    assert gitcp(top, "status").returncode != 0


def test_jj_is_asked_from_a_subdirectory_too(new_copy: NewCopy) -> None:
    copy = new_copy("non-colocated")
    a, _ = copy.pair()
    a.cwd = copy.path / "src"
    assert (pre(a, "app.py").status, post(a, "app.py").status) == (0, 0)


def test_a_repository_that_is_moved_stays_what_it_was(new_copy: NewCopy) -> None:
    copy = new_copy("non-colocated")
    copy.path.rename(copy.path.with_name("moved"))
    copy.path = copy.path.with_name("moved")
    shown = gitcp(copy.path, "status")
    assert shown.returncode == 0, shown
    assert "enabled" in shown.stdout and A[:8] in shown.stdout


def test_where_gitcp_is_not_enabled_a_workspace_is_left_alone(
    tmp_path: Path, new_copy: NewCopy
) -> None:
    new_copy("non-colocated")
    at = tmp_path / "plain"
    at.mkdir()
    run(["jj", "--quiet", "git", "init", "--no-colocate"], at)
    done = gitcp(at, "status")
    assert done.returncode == 128
    assert "gitcp is not enabled in the jj repository" in done.stderr
    assert not (at / ".jj" / "gitcp.git").exists()


def fake_jj(tmp_path: Path) -> dict[str, str]:
    """A PATH on which jj leaves a note when it is run."""
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "jj").write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexit 1\n")
    (folder / "jj").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_without_a_jj_directory_above_no_jj_process_runs(git_copy: Copy, tmp_path: Path) -> None:
    git_copy.env |= fake_jj(tmp_path)
    a, _ = git_copy.pair()
    a.cwd = git_copy.path / "src"
    assert (pre(a, "app.py").status, post(a, "app.py").status) == (0, 0)
    assert a.prompt("more").status == 0
    assert not (tmp_path / "asked").exists()


def test_a_git_worktree_inside_a_jj_repository_is_gits(new_copy: NewCopy, tmp_path: Path) -> None:
    """The deeper root wins: jj would answer for the directory above."""
    copy = new_copy("colocated")
    inner = copy.path / "inner"
    run(["git", "worktree", "add", "-q", "--detach", str(inner)], copy.path)
    copy.env |= fake_jj(tmp_path)
    agent = copy.agent("inside", inner)
    agent.prompt("work inside")
    assert (pre(agent).status, post(agent).status) == (0, 0)
    assert not (tmp_path / "asked").exists()
    assert agent.state["worktree_id"] == "inner"


def test_a_jj_repository_inside_a_git_worktree_is_jjs(git_copy: Copy, new_copy: NewCopy) -> None:
    inside = git_copy.path / "inside"
    shutil.copytree(new_copy("non-colocated").path, inside, symlinks=True)
    found = json.loads(gitcp(inside / "src", "status", "--json").stdout.splitlines()[0])
    assert found["worktree_path"] == str(inside)


def test_without_jj_a_colocated_repository_is_looked_at_through_git(
    new_copy: NewCopy, tmp_path: Path
) -> None:
    copy = new_copy("colocated")
    copy.env["PATH"] = os.pathsep.join(
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not os.path.exists(os.path.join(folder, "jj"))
    )
    a, b = copy.pair()
    assert pre(a).status == 0
    assert pre(b).status == 2
    assert post(a).status == 0
