"""Where the store goes: to the places that were agreed to, and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.text.short_ids import shorten_id
from tests.support import gits
from tests.support.harness import V1, World
from tests.support.paths import BIN
from tests.support.scenes import Scenes

NOTES = "refs/notes/gitcp"
SENT = [V1, NOTES]


def record_commit(world: World) -> World:
    """A repository with a linked commit, so that there is something to send."""
    world.agent("s-one").turn("write", {"one.py": "one\n"})
    world.commit("one.py")
    return world


@pytest.fixture
def stored(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(record_commit, monkeypatch)


def refs(bare: Path) -> list[str]:
    """The refs that a bare repository has, without main."""
    out = subprocess.check_output(["git", "for-each-ref", "--format=%(refname)"], cwd=bare)
    return [ref for ref in out.decode().split() if ref != "refs/heads/main"]


def push(world: World, *args: str) -> str:
    """`git push` with these arguments, its hooks and all; what it said on standard error."""
    done = tried(world, "git", "push", "-q", *args)
    assert done.returncode == 0, done
    return done.stderr


def tried(world: World, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **world.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(argv, cwd=world.path, env=env, capture_output=True, text=True)


def config(world: World, key: str = "gitcp.remote") -> str:
    return tried(world, "git", "config", key).stdout.strip()


def more(world: World, name: str) -> None:
    """Another linked commit."""
    world.agent(f"s-{name}").turn("write", {f"{name}.py": f"{name}\n"})
    world.commit(f"{name}.py")


def test_without_a_destination_nothing_is_sent_and_the_first_push_says_so_in_one_line(
    stored: World,
) -> None:
    bare = stored.remote("origin")
    said = push(stored, "origin", "main")
    assert "'gitcp push --to origin'" in said and said.count("\n") == 1
    more(stored, "two")
    assert push(stored, "origin", "main") == ""
    assert refs(bare) == [] and config(stored) == ""


def test_where_nothing_is_stored_the_first_push_says_nothing(world: World) -> None:
    world.remote("origin")
    world.agent("s-one").turn("look")
    assert push(world, "origin", "main") == ""


@pytest.mark.parametrize("target", ["deploy", "url", "path"])
def test_a_push_to_another_than_the_destination_sends_nothing(stored: World, target: str) -> None:
    origin, deploy = stored.share(), stored.remote("deploy")
    where = {"deploy": "deploy", "url": f"file://{deploy}", "path": str(deploy)}[target]
    said = push(stored, where, "main")
    assert said.count("\n") == 1 and str(deploy) in said and f"'gitcp push --to {where}'" in said
    assert refs(deploy) == refs(origin) == []


@pytest.mark.parametrize("how", ["name", "url", "by its url"])
def test_a_push_to_the_destination_brings_the_store(stored: World, how: str) -> None:
    bare = stored.share()
    if how == "url":
        stored.git("config", "gitcp.remote", str(bare))
    push(stored, str(bare) if how == "by its url" else "origin", "main")
    assert refs(bare) == SENT


def test_a_destination_that_is_a_url_is_kept_up_by_every_push(stored: World) -> None:
    origin, private = stored.remote("origin"), stored.remote("private")
    stored.git("remote", "remove", "private")
    stored.git("config", "gitcp.remote", str(private))
    push(stored, "origin", "main")
    assert refs(private) == SENT and refs(origin) == []


def test_a_destination_that_is_none_sends_nothing_and_says_nothing(stored: World) -> None:
    bare = stored.remote("origin")
    stored.git("config", "gitcp.remote", "none")
    assert push(stored, "origin", "main") == "" and refs(bare) == []


def test_a_destination_that_is_no_remote_sends_nothing_and_says_so(stored: World) -> None:
    bare = stored.remote("origin")
    stored.git("config", "gitcp.remote", "upstream")
    said = push(stored, "origin", "main")
    assert "'upstream'" in said and "'gitcp push --to origin'" in said and said.count("\n") == 1
    assert push(stored, "origin", "main") == "" and refs(bare) == []
    failed = tried(stored, "gitcp", "push")
    assert failed.returncode == 128 and "'upstream'" in failed.stderr


@pytest.mark.parametrize("how", ["fetch", "show", "push once", "push by git", "gitcp.push"])
def test_nothing_but_a_named_destination_is_an_order_to_send(
    stored: World, tmp_path: Path, how: str
) -> None:
    bare = stored.share()
    push(stored, "origin", "main")
    only = () if how == "push by git" else ("--single-branch",)
    stored.git("clone", "-q", *only, str(bare), str(tmp_path / "clone"))
    there = World(tmp_path / "clone", stored.home)
    there.gitcp("enable")
    words = {"fetch": ["fetch"], "show": ["show", "HEAD"], "push once": ["push", "origin"]}
    if how in words:
        there.gitcp(*words[how])
    elif how == "gitcp.push":
        there.git("config", "gitcp.push", "true")
    else:
        there.git("branch", "entire/checkpoints/v1", f"origin/{V1.removeprefix('refs/heads/')}")
        more(there, "one-more")
        there.git(*gits.SILENT, "push", "-q", "origin", V1)
    more(there, "two")
    before = stored.git("rev-parse", V1, NOTES, cwd=bare)
    said = push(there, "origin", "main")
    assert "'gitcp push --to origin'" in said and said.count("\n") == 1
    assert stored.git("rev-parse", V1, NOTES, cwd=bare) == before and config(there) == ""
    more(there, "three")
    assert push(there, "origin", "main") == ""
    there.gitcp("push", "--to", "origin")
    assert there.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=bare)
    there.close()


def test_a_global_setting_is_a_named_destination(stored: World, tmp_path: Path) -> None:
    bare = stored.remote("origin")
    stored.env["GIT_CONFIG_GLOBAL"] = str(tmp_path / "gitconfig")
    stored.git("config", "--global", "gitcp.remote", "origin")
    said = push(stored, "origin", "main")
    assert said.count("\n") == 1 and str(bare) in said and refs(bare) == SENT


def test_a_store_that_came_with_a_clone_is_no_order_to_send(stored: World, tmp_path: Path) -> None:
    bare = stored.share()
    push(stored, "origin", "main")
    before = refs(bare), stored.git("rev-parse", V1)
    stored.git("clone", "-q", str(bare), str(tmp_path / "clone"))
    there = World(tmp_path / "clone", stored.home)
    there.gitcp("enable")
    try:
        more(there, "two")
        assert "'gitcp push --to origin'" in push(there, "origin", "main")
    finally:
        there.close()
    assert (refs(bare), stored.git("rev-parse", V1, cwd=bare)) == before


def test_who_had_refused_pushes_by_the_old_key_hears_nothing_of_it(stored: World) -> None:
    bare = stored.remote("origin")
    stored.git("config", "gitcp.push", "false")
    assert push(stored, "origin", "main") == ""
    assert refs(bare) == [] and config(stored) == ""


def test_push_to_names_the_destination_and_sends(stored: World) -> None:
    bare = stored.remote("origin")
    failed = tried(stored, "gitcp", "push")
    assert failed.returncode == 128 and "'gitcp push --to origin'" in failed.stderr
    stored.gitcp("push", "--to", "origin")
    assert config(stored, "gitcp.place") == str(bare) and refs(bare) == SENT
    more(stored, "two")
    stored.gitcp("push")
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=bare)


def test_push_to_a_remote_that_is_none_changes_nothing(stored: World) -> None:
    failed = tried(stored, "gitcp", "push", "--to", "nowhere")
    assert failed.returncode == 128 and "'nowhere'" in failed.stderr
    assert config(stored) == ""


@pytest.mark.parametrize("setting", ["origin", ""])
def test_a_store_that_git_itself_would_send_elsewhere_is_refused(
    stored: World, setting: str
) -> None:
    stored.remote("origin")
    deploy = stored.remote("deploy")
    if setting:
        stored.git("config", "gitcp.remote", setting)
    for args in (["--all"], ["main", "entire/checkpoints/v1"]):
        done = tried(stored, "git", "push", "-q", "deploy", *args)
        assert done.returncode and "entire/checkpoints/v1" in done.stderr
        assert "gitcp.push-check=warn" in done.stderr
    assert refs(deploy) == []
    stored.git("config", "gitcp.push-check", "warn")
    assert "warning: " in push(stored, "deploy", "--all")
    assert refs(deploy) == [V1]


@pytest.mark.parametrize("check", ["", "true", "refuse", "false"])
@pytest.mark.parametrize("args", [["--all"], ["--mirror"], ["{}:refs/heads/x"]], ids=" ".join)
def test_a_push_that_carries_shadow_branches_is_refused(
    stored: World, check: str, args: list[str]
) -> None:
    bare = stored.share()
    if check:
        stored.git("config", "gitcp.push-check", check)
    stored.agent("s-two").turn("more", {"two.py": "2\n", ".env": "SECRET=1\n"})
    args = [arg.format(stored.branch()) for arg in args]
    done = tried(stored, "git", "push", "-q", "origin", *args)
    assert done.returncode and "whole worktrees" in done.stderr
    assert refs(bare) == []


def test_a_branch_of_the_person_beside_the_streams_is_pushed_as_any(stored: World) -> None:
    bare = stored.share()
    stored.git("branch", "entire/notes-of-mine")
    assert push(stored, "origin", "entire/notes-of-mine") == ""
    assert refs(bare) == [V1, "refs/heads/entire/notes-of-mine", NOTES]


def read_place(world: World) -> str:
    """What a status tells of where conversations are sent."""
    words = "conversations ", "gitcp.remote "
    return "\n".join(x for x in world.gitcp("status").splitlines() if x.startswith(words))


def test_status_names_the_destination_and_what_it_lacks(stored: World) -> None:
    assert "gitcp push" not in stored.gitcp("status")
    stored.remote("origin")
    assert "'gitcp push --to origin'" in read_place(stored)
    stored.git("config", "gitcp.remote", "origin")
    more(stored, "two")
    told = read_place(stored)
    assert "'origin'" in told and "2 are not sent yet" in told
    push(stored, "origin", "main")
    told = read_place(stored)
    assert "'origin'" in told and "not sent" not in told
    stored.git("config", "gitcp.remote", "nowhere")
    assert "'nowhere'" in read_place(stored)


@pytest.mark.parametrize("how", ["name", "url"])
def test_a_colleague_reads_from_the_destination(stored: World, tmp_path: Path, how: str) -> None:
    private = stored.share("private")
    stored.remote("origin")
    push(stored, "private", "main")
    push(stored, "origin", "main")
    origin, clone = stored.path.parent / "origin.git", tmp_path / "clone"
    stored.git("clone", "-q", str(origin), str(clone))
    there = World(clone, stored.home)
    assert tried(there, "gitcp", "show").returncode == 128
    if how == "name":
        there.git("remote", "add", "private", str(private))
    there.git("config", "gitcp.remote", "private" if how == "name" else str(private))
    for command in ("show", "explain", "resume"):
        at = World(Path(shutil.copytree(clone, tmp_path / command)), stored.home)
        if command == "resume":
            at.git("commit", "-q", "--allow-empty", "-m", "a person's own, on top of it")
        done = tried(at, "gitcp", command, "HEAD")
        assert done.returncode == 0, done
        assert "s-one" in done.stdout or shorten_id("s-one") in done.stdout
        assert "fetch" in done.stderr and done.stderr.count("\n") == 1
    there.gitcp("fetch")
    assert there.git("rev-parse", V1) == stored.git("rev-parse", V1)
    there.close()


def test_a_push_of_git_sends_all_but_what_looks_like_a_secret_and_says_so_each_time(
    stored: World,
) -> None:
    bare = stored.share()
    kept = stored.git("log", "-1", "--format=%(trailers:key=Entire-Checkpoint,valueonly)").strip()
    token = "ghp_" + "a1B2" * 9
    stored.agent("s-two").turn("write", {f"{token}.py": "two\n"})
    held = stored.commit(f"{token}.py")
    for _ in range(2):
        said = push(stored, "origin", "main")
        assert "not pushed: checkpoint" in said and "gitcp.redact-allow" in said, said
        assert said.count("\n") == 1 and token not in said
    there = stored.git("ls-tree", "-r", "--name-only", V1, cwd=bare)
    assert f"{kept[:2]}/{kept[2:]}/metadata.json" in there
    assert there.count("/0/metadata.json") == 1
    assert stored.git("rev-parse", "main") == stored.git("rev-parse", "main", cwd=bare), held
    assert "a push leaves out " in stored.gitcp("status")
