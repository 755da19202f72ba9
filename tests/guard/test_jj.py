"""jj workspaces: what is recorded where no git sees the worktree, and when jj is asked at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.text.short_ids import shorten_id
from tests.guard.working_copies import A, Copy, jj_folder, post, pre, run
from tests.support import warm
from tests.support.copies import plant
from tests.support.harness import World

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
        assert shorten_id(A) in shown.stdout and path in shown.stdout
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


def test_a_repository_that_is_moved_stays_what_it_was_once_it_is_enabled_there(
    new_copy: NewCopy,
) -> None:
    copy = new_copy("non-colocated")
    copy.path.rename(copy.path.with_name("moved"))
    copy.path = copy.path.with_name("moved")
    assert "'gitcp enable' there registers it" in gitcp(copy.path, "status").stderr
    a, _ = copy.pair()
    assert "'gitcp enable' there registers it" in a.start().said
    assert gitcp(copy.path, "enable").returncode == 0
    shown = gitcp(copy.path, "status")
    assert shown.returncode == 0, shown
    assert ", recording Claude Code" in shown.stdout and shorten_id(A) in shown.stdout


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
    assert gitcp(inside / "src", "enable").returncode == 0
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


# What git brings below `.jj` starts no program and leads nowhere, whoever asks.
OPERATION = "ab" * 64


@pytest.fixture
def evil(template: Path, tmp_path: Path) -> Path:
    """A repository that tracks, at its top and in `sub`, a workspace of jj with a view of gitcp's,
    and a program that leaves a note when it runs."""
    at = plant(template, tmp_path / "evil")
    for folder in (at, at / "sub"):
        _plant_workspace(folder, tmp_path / "ran")
    _commit(at)
    return at


def _plant_workspace(folder: Path, note: Path) -> None:
    (folder / "tools").mkdir(parents=True)
    jj = folder / "tools" / "jj"
    jj.write_text(f"#!/bin/sh\ntouch {note}\nexit 1\n")
    jj.chmod(0o755)
    view = folder / ".jj" / "gitcp.git"
    view.mkdir(parents=True)
    run(["git", "init", "-q", "--bare", str(folder / "store")], folder)
    (folder / "store" / "gitcp").mkdir()
    (folder / "store" / "gitcp" / "keep").write_text("")
    run(["git", f"--git-dir={folder}/store", "config", "core.fsmonitor", str(jj)], folder)
    for name in ("objects", "refs"):
        (folder / "store" / name / "keep").write_text("")
    (view / "jj").write_text("tools/jj\n")
    (view / "commondir").write_text("../../store\n")
    (view / "HEAD").write_text("ref: refs/heads/main\n")
    (view / "workspace").write_text("\n")
    heads = folder / ".jj" / "repo" / "op_heads" / "heads"
    heads.mkdir(parents=True)
    (heads / OPERATION).write_text("")
    answer = b"\0".join([b"k" * 32, b"1" * 40, b"2" * 40, b"default@", b"message"])
    (view / "jj-at").write_bytes(OPERATION.encode() + b"\0" + answer)


def _commit(at: Path) -> None:
    run(["git", "add", "-f", "."], at)
    run(["git", "commit", "-q", "-m", "evil"], at)


def clone(evil: Path, tmp_path: Path) -> World:
    at = tmp_path / "clone"
    run(["git", "clone", "-q", str(evil), str(at)], tmp_path)
    return World(at, tmp_path / "home")


def ask_everything(path: Path) -> None:
    """Ask what a person asks, in a directory."""
    commands = ("status", "log", "sessions", "doctor", "fsck", "list-sessions", "recap", "clean")
    for name in commands:
        warm.run(name, cwd=path)
    for name in ("blame", "why"):
        warm.run(name, "tools/jj", cwd=path)


def work(world: World, folder: Path) -> None:
    """A session at work in a directory."""
    agent = world.agent("session", folder, tools=True)
    agent.start()
    agent.turn("work", {"new.txt": "new\n"})
    agent.end()


@pytest.fixture(params=["jj", "no jj"])
def jj_or_none(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jj on PATH that fails, or none."""
    folders = os.environ["PATH"].split(os.pathsep)
    folders = [folder for folder in folders if not (Path(folder) / "jj").exists()]
    if request.param == "jj":
        folder = Path(os.environ["TMPDIR"]) / "stand-in"
        folder.mkdir()
        (folder / "jj").write_text("#!/bin/sh\nexit 1\n")
        (folder / "jj").chmod(0o755)
        folders.insert(0, str(folder))
    monkeypatch.setenv("PATH", os.pathsep.join(folders))


@pytest.mark.thorough
@pytest.mark.usefixtures("jj_or_none")
def test_a_clone_that_tracks_a_workspace_runs_nothing(evil: Path, tmp_path: Path) -> None:
    world = clone(evil, tmp_path)
    for enabled in (False, True):
        if enabled:
            warm.run("enable", cwd=world.path).check_returncode()
        for folder in (world.path, world.path / "sub"):
            ask_everything(folder)
            if enabled:
                work(world, folder)
    warm.run("enable", cwd=world.path / "sub")
    ask_everything(world.path / "sub")
    assert not (tmp_path / "ran").exists()
    assert warm.run("status", cwd=world.path / "sub").returncode == 0


@pytest.mark.usefixtures("jj_or_none")
def test_a_workspace_that_a_pull_brings_is_a_directory_like_any_other(
    template: Path, tmp_path: Path
) -> None:
    origin = plant(template, tmp_path / "origin")
    world = clone(origin, tmp_path)
    warm.run("enable", cwd=world.path).check_returncode()
    for folder in (origin, origin / "sub"):
        _plant_workspace(folder, tmp_path / "ran")
    _commit(origin)
    world.git("pull", "-q")
    for folder in (world.path, world.path / "sub"):
        work(world, folder)
        ask_everything(folder)
    assert not (tmp_path / "ran").exists()
    assert world.state("session")["worktree_path"] == str(world.path)
    assert json.loads(world.gitcp("sessions", "--json").splitlines()[0])
    # What it tracks there is recorded as any other file is.
    agent = world.agent("other", tools=True)
    agent.turn("write beside it", {"sub/own.txt": "own\n"})
    assert "sub/own.txt" in agent.state["files_touched"]


@pytest.mark.usefixtures("jj_or_none")
def test_what_a_reset_leaves_of_a_pull_is_followed_no_more(evil: Path, tmp_path: Path) -> None:
    world = clone(evil, tmp_path)
    warm.run("enable", cwd=world.path).check_returncode()
    world.git("reset", "-q", "HEAD~")
    assert "?? .jj/" in world.git("status", "--porcelain")
    for folder in (world.path, world.path / "sub"):
        ask_everything(folder)
    work(world, world.path)
    warm.run("blame", "README.md", cwd=world.path).check_returncode()
    assert not (tmp_path / "ran").exists()


def test_a_further_workspace_is_followed_if_jj_of_the_registered_one_names_it(
    new_copy: NewCopy, tmp_path: Path
) -> None:
    copy = new_copy("non-colocated")
    forged, there = tmp_path / "forged", tmp_path / "there"
    (forged / ".jj").mkdir(parents=True)
    (forged / ".jj" / "repo").write_text(str(copy.path / ".jj" / "repo"))
    copy.jj("workspace", "add", str(there))
    assert "is not enabled" in warm.run("status", cwd=forged).stderr
    assert warm.run("status", cwd=there).returncode == 0
    assert not (forged / ".jj" / "gitcp.git").exists()


def test_a_link_in_the_place_of_a_workspace_is_not_followed(
    new_copy: NewCopy, tmp_path: Path, template: Path
) -> None:
    copy = new_copy("non-colocated")
    at = plant(template, tmp_path / "linking")
    (at / "sub").mkdir()
    (at / "sub" / ".jj").symlink_to(copy.path / ".jj")
    _commit(at)
    warm.run("enable", cwd=at).check_returncode()
    done = warm.run("status", "--json", cwd=at / "sub")
    assert json.loads(done.stdout.splitlines()[0])["worktree_path"] == str(at)


def test_a_registered_workspace_is_left_to_git_once_a_pull_brings_a_file_below_it(
    new_copy: NewCopy, tmp_path: Path
) -> None:
    copy = new_copy("colocated")
    tip = copy.git("rev-parse", "HEAD")
    (copy.path / ".jj" / "planted").write_text("")
    copy.git("add", "-f", ".jj/planted")
    copy.git("commit", "-q", "-m", "brought")
    a, _ = copy.pair()
    copy.env["GITCP_TRACE"] = str(tmp_path / "trace")
    a.turn("work", {"a.txt": "by A\n"})
    assert "/jj -R " not in (tmp_path / "trace").read_text()
    assert copy.git("rev-parse", "HEAD~") == tip and "a.txt" in a.state["files_touched"]


def test_disable_lets_a_workspace_be_followed_no_more(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    warm.run("disable", "--uninstall", cwd=copy.path).check_returncode()
    a, _ = copy.pair()
    assert "jj works in this directory too" in a.start().said
    warm.run("enable", cwd=copy.path).check_returncode()
    assert "jj works in this directory too" not in a.start().said
