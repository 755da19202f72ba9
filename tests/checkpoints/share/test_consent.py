"""Consent names a place, not a word: whatever a remote's name comes to mean, the store goes only to
the URLs that were agreed to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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


def run(world: World, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **world.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(argv, cwd=world.path, env=env, capture_output=True, text=True)


def push(world: World, *args: str) -> str:
    """`git push` with its hooks; what it said on standard error."""
    done = run(world, "git", "push", "-q", *args)
    assert done.returncode == 0, done
    return done.stderr


def refs(bare: Path) -> list[str]:
    """The refs that a bare repository has, without main."""
    out = subprocess.check_output(["git", "for-each-ref", "--format=%(refname)"], cwd=bare)
    return [ref for ref in out.decode().split() if ref != "refs/heads/main"]


def agreed(world: World) -> list[str]:
    return run(world, "git", "config", "--get-all", "gitcp.place").stdout.split()


def more(world: World, name: str) -> None:
    """Another linked commit."""
    world.agent(f"s-{name}").turn("write", {f"{name}.py": f"{name}\n"})
    world.commit(f"{name}.py")


def rename_and_add(world: World, up: Path, fork: Path) -> None:
    world.git("remote", "rename", "origin", "upstream")
    world.git("remote", "add", "origin", str(fork))


def set_url(world: World, up: Path, fork: Path) -> None:
    world.git("remote", "set-url", "origin", str(fork))


def set_push_url(world: World, up: Path, fork: Path) -> None:
    world.git("remote", "set-url", "--push", "origin", str(fork))


def rewrite(world: World, up: Path, fork: Path) -> None:
    world.git("config", f"url.{fork}.insteadOf", str(up))


def rewrite_pushes(world: World, up: Path, fork: Path) -> None:
    world.git("config", f"url.{fork}.pushInsteadOf", str(up))


def use_pushdefault(world: World, up: Path, fork: Path) -> None:
    world.git("remote", "add", "fork", str(fork))
    world.git("config", "remote.pushDefault", "fork")


WAYS = [rename_and_add, set_url, set_push_url, rewrite, rewrite_pushes, use_pushdefault]


@pytest.fixture
def fork(stored: World) -> Path:
    path = stored.path.parent / "fork.git"
    stored.git("clone", "-q", "--bare", "--single-branch", str(stored.path), str(path))
    return path


@pytest.mark.parametrize("store", ["branch", "refs"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_a_name_comes_to_mean_gets_nothing_and_one_line_says_so(
    stored: World, fork: Path, way: Callable[[World, Path, Path], None], store: str
) -> None:
    stored.git("config", "gitcp.store", store)
    stored.git("config", "gitcp.share-abandoned", "true")
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    assert agreed(stored) == [str(up)]
    way(stored, up, fork)
    more(stored, "two")
    name = "fork" if way is use_pushdefault else "origin"
    push(stored, name, "main")
    push(stored, name, "main")
    assert refs(fork) == []
    more(stored, "three")
    before = stored.git("for-each-ref", cwd=up)
    done = run(stored, "gitcp", "push")
    assert refs(fork) == []
    if way in (rewrite, rewrite_pushes):  # no URL leads to the place any more
        assert done.returncode == 128 and f"'{up}'" in done.stderr
    else:
        assert done.returncode == 0 and stored.git("for-each-ref", cwd=up) != before


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_one_line_names_the_place_and_the_command_that_agrees(
    stored: World, fork: Path, way: Callable[[World, Path, Path], None]
) -> None:
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    way(stored, up, fork)
    more(stored, "two")
    name = "fork" if way is use_pushdefault else "origin"
    said = push(stored, name, "main")
    assert said.count("\n") == 1
    assert f"'{fork}'" in said and f"'gitcp push --to {name}'" in said
    assert push(stored, name, "main") == ""
    stored.gitcp("push", "--to", name)
    assert agreed(stored) == [str(up), str(fork)]
    assert refs(fork) == SENT
    more(stored, "three")
    assert push(stored, name, "main") == ""
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=fork)


def test_a_renamed_remote_keeps_its_consent(stored: World, fork: Path) -> None:
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    rename_and_add(stored, up, fork)
    more(stored, "two")
    assert push(stored, "upstream", "main") == ""
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=up)
    assert refs(fork) == []


def test_of_two_push_urls_only_the_one_that_was_agreed_to_gets_the_store(
    stored: World, fork: Path
) -> None:
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    stored.git("remote", "set-url", "--add", "--push", "origin", str(up))
    stored.git("remote", "set-url", "--add", "--push", "origin", str(fork))
    more(stored, "two")
    said = push(stored, "origin", "main")
    assert said.count("\n") == 1 and str(fork) in said
    assert refs(fork) == [] and refs(up) == SENT
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=up)
    stored.gitcp("push")
    assert refs(fork) == []
    stored.gitcp("push", "--to", "origin")
    assert agreed(stored) == [str(up), str(fork)] and refs(fork) == SENT
    more(stored, "three")
    assert push(stored, "origin", "main") == ""
    for bare in (up, fork):
        assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=bare)


@pytest.mark.parametrize("key", ["insteadOf", "pushInsteadOf"])
def test_what_git_rewrites_is_rewritten_once(stored: World, fork: Path, key: str) -> None:
    up = stored.remote("origin")
    stored.git("remote", "set-url", "origin", "short:up")
    stored.git("config", f"url.{up}.{key}", "short:up")
    stored.git("config", f"url.{fork}.{key}", str(up))  # as git would, twice
    stored.gitcp("push", "--to", "origin")
    assert agreed(stored) == [str(up)]
    more(stored, "two")
    assert push(stored, "origin", "main") == ""
    assert refs(up) == SENT and refs(fork) == []
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=up)


@pytest.mark.parametrize("args", [["--all"], ["--mirror"]], ids=" ".join)
def test_a_push_of_all_refuses_the_store_where_a_name_means_another_place(
    stored: World, fork: Path, args: list[str]
) -> None:
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    set_url(stored, up, fork)
    for ref in stored.git("for-each-ref", "--format=%(refname)", "refs/gitcp").split():
        stored.git("update-ref", "-d", ref)  # which are refused whatever the place
    done = run(stored, "git", "push", "-q", "origin", *args)
    assert done.returncode and "entire/checkpoints/v1" in done.stderr and str(fork) in done.stderr
    assert refs(fork) == []
    done = run(stored, "git", "push", "-q", str(up), "--all")
    assert done.returncode == 0, done


def test_a_destination_of_its_own_gets_the_store_wherever_a_push_goes(
    stored: World, fork: Path
) -> None:
    up = stored.remote("origin")
    own = stored.path.parent / "own.git"
    stored.git("init", "-q", "--bare", str(own))
    stored.git("config", "gitcp.remote", str(own))
    assert push(stored, "origin", "main") == ""
    assert agreed(stored) == [str(own)]
    assert refs(own) == SENT and refs(up) == []
    set_url(stored, up, fork)
    more(stored, "two")
    assert push(stored, "origin", "main") == ""
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=own)
    stored.git("config", f"url.{fork}.insteadOf", str(own))
    more(stored, "three")
    said = push(stored, "origin", "main")
    assert "another place than was agreed to" in said
    assert refs(fork) == [] and refs(up) == []


def test_a_url_that_git_rewrites_is_agreed_to_at_the_first_run(stored: World, fork: Path) -> None:
    up = stored.remote("origin")
    own = stored.path.parent / "own.git"
    stored.git("init", "-q", "--bare", str(own))
    stored.git("config", f"url.{own}.insteadOf", "mine:own")
    stored.git("config", "gitcp.remote", "mine:own")
    push(stored, "origin", "main")
    assert agreed(stored) == [str(own)] and refs(own) == SENT and refs(up) == []


def test_a_consent_by_name_becomes_a_place_and_is_said_once(stored: World, fork: Path) -> None:
    up = stored.remote("origin")
    stored.git("config", "gitcp.remote", "origin")
    said = push(stored, "origin", "main")
    assert said.count("\n") == 1 and str(up) in said
    assert agreed(stored) == [str(up)] and refs(up) == SENT
    assert run(stored, "git", "config", "gitcp.remote").stdout == ""
    more(stored, "two")
    assert push(stored, "origin", "main") == ""
    set_url(stored, up, fork)
    more(stored, "three")
    assert str(fork) in push(stored, "origin", "main") and refs(fork) == []


def test_a_name_in_a_wider_configuration_counts_until_something_is_agreed_to_here(
    stored: World, fork: Path, tmp_path: Path
) -> None:
    up = stored.remote("origin")
    stored.env["GIT_CONFIG_GLOBAL"] = str(tmp_path / "gitconfig")
    stored.git("config", "--global", "gitcp.remote", "origin")
    push(stored, "origin", "main")
    assert refs(up) == SENT and agreed(stored) == [str(up)]
    set_url(stored, up, fork)
    more(stored, "two")
    push(stored, "origin", "main")
    assert refs(fork) == [] and agreed(stored) == [str(up)]
    stored.gitcp("push", "--forget-place", str(up))
    push(stored, "origin", "main")
    assert refs(fork) == [] and agreed(stored) == []


def test_a_consent_by_name_is_void_where_what_it_sent_lies_elsewhere(
    stored: World, fork: Path
) -> None:
    up = stored.remote("origin")
    stored.git("remote", "rename", "origin", "x")
    stored.git("remote", "rename", "x", "origin")  # with a refspec
    stored.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    stored.gitcp("push", "--to", "origin")
    # As an older gitcp left it.
    stored.git("config", "--unset-all", "gitcp.place")
    stored.git("config", "gitcp.remote", "origin")
    pushed = stored.path / ".git/gitcp/pushed"
    [known] = pushed.iterdir()
    known.rename(pushed / "origin")
    rename_and_add(stored, up, fork)
    more(stored, "two")
    said = push(stored, "origin", "main")
    assert "'gitcp push --to upstream'" in said
    assert refs(fork) == [] and agreed(stored) == []


def test_a_password_and_a_token_are_no_part_of_a_place(stored: World) -> None:
    stored.git("remote", "add", "origin", "https://me:s3cret@127.0.0.1:1/x.git")
    stored.gitcp("enable", "--checkpoints", "origin")
    assert agreed(stored) == ["https://127.0.0.1:1/x.git"]
    stored.git("remote", "set-url", "origin", "https://ghp_token@127.0.0.1:1/x.git")
    event = f"refs/heads/main {stored.head} refs/heads/main {'0' * 40}\n"
    url = "https://ghp_token@127.0.0.1:1/x.git"
    env = {**os.environ, **stored.env}
    done = subprocess.run(
        [".git/hooks/pre-push", "origin", url],
        cwd=stored.path, input=event, env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert "no checkpoints are sent" not in done.stderr  # it tried
    assert "'gitcp push' tries again" in done.stderr
    assert "ghp_token" not in done.stderr and "s3cret" not in done.stderr


def test_ssh_and_https_of_one_repository_are_two_places(stored: World) -> None:
    stored.git("remote", "add", "origin", "https://host.example/x.git")
    stored.git("remote", "add", "other", "git@host.example:x.git")
    stored.gitcp("enable", "--checkpoints", "origin")
    assert agreed(stored) == ["https://host.example/x.git"]
    stored.gitcp("enable", "--checkpoints", "other")
    assert agreed(stored) == ["https://host.example/x.git", "git@host.example:x.git"]


def test_a_linked_worktree_has_the_same_places_and_a_relative_path_is_not_the_same(
    stored: World, tmp_path: Path
) -> None:
    up = stored.remote("origin")
    stored.git("remote", "set-url", "origin", f"../{up.name}")
    stored.gitcp("push", "--to", "origin")
    assert refs(up) == SENT
    linked = tmp_path / "deep/linked"
    stored.git("worktree", "add", "-q", "-b", "side", str(linked))
    elsewhere = linked.parent / up.name
    stored.git("clone", "-q", "--bare", "--single-branch", str(stored.path), str(elsewhere))
    before = refs(elsewhere)
    more(stored, "two")
    there = World(linked, stored.home, stored.env)
    said = push(there, "origin", "side")
    assert "no checkpoints are sent" in said
    assert [ref for ref in refs(elsewhere) if "side" not in ref] == before
    stored.git("remote", "set-url", "origin", str(up))
    stored.gitcp("push", "--to", "origin")
    more(stored, "three")
    assert push(there, "origin", "side") == ""
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=up)


def test_a_place_is_forgotten_by_name_and_by_url(stored: World, fork: Path) -> None:
    up = stored.remote("origin")
    stored.git("remote", "add", "fork", str(fork))
    stored.gitcp("push", "--to", "origin")
    stored.gitcp("push", "--to", "fork")
    assert agreed(stored) == [str(up), str(fork)]
    said = stored.gitcp("push", "--forget-place", "fork")
    assert agreed(stored) == [str(up)] and str(fork) in said
    more(stored, "two")
    push(stored, "fork", "main")
    assert stored.git("rev-parse", V1) != stored.git("rev-parse", V1, cwd=fork)
    stored.gitcp("push", "--forget-place", str(up))
    assert agreed(stored) == []
    assert push(stored, "origin", "main") == ""
    assert stored.git("rev-parse", V1) != stored.git("rev-parse", V1, cwd=up)
    failed = run(stored, "gitcp", "push", "--forget-place", "origin")
    assert failed.returncode == 128 and "not a place that was agreed to" in failed.stderr
    stored.gitcp("push", "--to", "origin")
    assert agreed(stored) == [str(up)]
    assert stored.git("rev-parse", V1) == stored.git("rev-parse", V1, cwd=up)


def test_what_is_fetched_by_itself_comes_from_a_place(
    stored: World, fork: Path, tmp_path: Path
) -> None:
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    push(stored, "origin", "main")
    clone = tmp_path / "clone"
    stored.git("clone", "-q", "--single-branch", "-b", "main", str(up), str(clone))
    there = World(clone, stored.home, stored.env)
    there.gitcp("enable", "--checkpoints", "origin")
    rename_and_add(there, up, fork)
    done = run(there, "gitcp", "show", "HEAD")
    assert done.returncode == 0, done
    assert "'upstream'" in done.stderr and "'origin'" not in done.stderr
    there.close()


def test_status_names_the_places(stored: World, fork: Path) -> None:
    up = stored.remote("origin")
    stored.gitcp("push", "--to", "origin")
    said = stored.gitcp("status")
    assert "conversations go to 'origin'; all are sent" in said
    assert f"go to 'origin' ({up}); all" in stored.gitcp("status", "-v")
    rename_and_add(stored, up, fork)
    said = stored.gitcp("status")
    assert "conversations go to 'upstream'; all are sent" in said
    stored.git("config", "branch.main.remote", "origin")
    said = stored.gitcp("status")
    assert "none go to 'origin': 'gitcp push --to origin'" in said
    assert f"none go to 'origin' ({fork}): " in stored.gitcp("status", "-v")


def test_enable_says_what_is_sent_after_it(stored: World) -> None:
    up = stored.remote("origin")
    assert "nothing is sent anywhere" in stored.gitcp("enable", "--strategy", "manual-commit")
    said = stored.gitcp("enable", "--checkpoints", "origin")
    assert "nothing is sent" not in said
    assert f"'git push' to 'origin' ({up}) sends prompts and transcripts there, too" in said
    assert "whoever can read that repository can read them" in said
    assert "'gitcp push --forget-place origin' stops it" in said
    assert "gitcp.remote" not in said and run(stored, "git", "config", "gitcp.remote").stdout == ""
    assert "--forget-place" in stored.gitcp("enable")
    stored.gitcp("push", "--forget-place", "origin")
    assert "--forget-place" not in stored.gitcp("enable")


def test_a_dry_run_lists_what_would_be_sent(stored: World) -> None:
    up = stored.remote("origin")
    token = "ghp_" + "a1B2" * 9
    stored.agent("s-two").turn(f"use the token {token} here", {"two.py": "two\n"})
    [name] = stored.commit("two.py")
    said = stored.gitcp("push", "-n", "--to", "origin")
    first, *rest = said.splitlines()
    assert first == f"would send 2 checkpoints to 'origin' ({up})"
    [line] = [line for line in rest if name in line]
    assert "'use the token REDACTED here'" in line and "1 file," in line
    assert "Claude Code" in line and " redaction" in line and " 0 redactions" not in line
    assert any(NOTES in line for line in rest)
    assert refs(up) == [] and agreed(stored) == []
    stored.gitcp("push", "--to", "origin")
    assert stored.gitcp("push", "-n") == f"nothing would be sent to 'origin' ({up})\n"
