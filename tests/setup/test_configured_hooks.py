"""Hooks in git's configuration, which git 2.54 and later run beside those in files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitcp.setup import hook_texts
from tests.support import gits
from tests.support.harness import V1, World
from tests.support.installed import write
from tests.support.screens import ALL_WELL
from tests.support.warm import run

Env = pytest.MonkeyPatch
# A script that writes the message of a commit anew, as some tools do.
REWRITES = '#!/bin/sh\nprintf "T-1: %s\\n" "$(head -n 1 "$1")" >"$1.new"; mv "$1.new" "$1"\n'


@pytest.fixture(autouse=True)
def configurable(tmp_path: Path, monkeypatch: Env) -> None:
    """A git that runs configured hooks, with a configuration of the person's."""
    home = tmp_path / "home"
    monkeypatch.setenv("PATH", gits.find_newer())
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    (home / "gitconfig").write_text("[user]\n\tname = A U Thor\n\temail = author@example.com\n")
    (home / ".claude").mkdir()


def git(*args: str, cwd: Path | None = None) -> str:
    return subprocess.check_output(["git", *args], cwd=cwd, text=True).rstrip("\n")


def gitcp(name: str, *args: str, cwd: Path | None = None) -> str:
    done = run(name, *args, cwd=cwd)
    assert done.returncode == 0, done
    return done.stdout


def enable_for_person() -> str:
    return gitcp("enable", "--global", "--agent=claude-code")


def is_linked(world: World, name: str, cwd: Path | None = None) -> bool:
    """Whether a commit of what a session wrote has its id."""
    world.agent(f"s-{name}", cwd=cwd).turn(f"make {name}", {f"{name}.txt": f"{name}\n"})
    return len(world.commit(f"{name}.txt", cwd=cwd)) == 1


def list_files(repo: Path) -> list[str]:
    """The hooks in the repository's own directory."""
    folder = repo / ".git" / "hooks"
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def make_pre_push(path: Path, status: int = 0) -> Path:
    """A tool's script that keeps what it reads; where it does."""
    told = path.parents[1] / "told"
    write(path, f"#!/bin/sh\ncat >'{told}'\nexit {status}\n")
    return told


def test_enable_writes_no_files_of_hooks_and_disable_takes_all_of_it_away(repo: Path) -> None:
    config = (repo / ".git" / "config").read_bytes()
    assert f"set hook.gitcp-* in '{repo}/.git/config'" in gitcp("enable")
    assert list_files(repo) == []
    world = World(repo, repo.parent / "home")
    assert is_linked(world, "one")
    assert gitcp("doctor") == ALL_WELL
    assert "nothing to do" in gitcp("enable")
    git("config", "user.name", "Another")  # the configuration is not as enable left it
    gitcp("disable", "--uninstall")
    assert "gitcp" not in (repo / ".git" / "config").read_text()
    git("config", "--unset", "user.name")
    assert (repo / ".git" / "config").read_bytes().startswith(config)
    world.close()


def test_a_repository_that_was_never_enabled_is_recorded_for_the_person(
    repo: Path, tmp_path: Path
) -> None:
    assert "for every repository" in enable_for_person()
    world = World(repo, tmp_path / "home")
    assert list_files(repo) == []
    assert gitcp("status").startswith("on main at ") and ", recording" in gitcp("status")
    assert "gitcp enable" not in world.agent("s0").start().said
    assert is_linked(world, "one")
    assert gitcp("doctor") == ALL_WELL
    git("worktree", "add", "-q", "../linked")
    assert is_linked(world, "two", cwd=tmp_path / "linked")
    gitcp("disable")
    assert "disabled" in gitcp("status")
    write(repo / "three.txt", "three\n", 0o644)
    assert world.commit("three.txt") == []
    world.close()


def test_hooks_elsewhere_are_left_alone_and_run_too(repo: Path, tmp_path: Path) -> None:
    write(tmp_path / "theirs" / "post-commit", "#!/bin/sh\necho theirs >>.git/ran\n")
    git("config", "core.hooksPath", str(tmp_path / "theirs"))
    assert "outside" not in gitcp("enable")
    world = World(repo, tmp_path / "home")
    assert is_linked(world, "one")
    assert (repo / ".git" / "ran").read_text() == "theirs\n"
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["post-commit"]
    assert gitcp("doctor") == ALL_WELL
    world.close()


def test_uninstalling_for_the_person_takes_it_out_of_their_configuration(
    repo: Path, tmp_path: Path
) -> None:
    before = (tmp_path / "home" / "gitconfig").read_text()
    enable_for_person()
    assert "removed hook.gitcp-*" in gitcp("disable", "--uninstall", "--user")
    assert (tmp_path / "home" / "gitconfig").read_text() == before


@pytest.mark.parametrize("named", ["-m", "-F", "editor"])
def test_what_a_script_of_theirs_drops_from_the_message_is_put_back(
    repo: Path, tmp_path: Path, named: str
) -> None:
    write(repo / ".git" / "hooks" / "prepare-commit-msg", REWRITES)
    gitcp("enable")
    assert list_files(repo) == ["prepare-commit-msg"]
    world = World(repo, tmp_path / "home", {"GIT_EDITOR": "sed -i '1s/$/ mine/'"})
    world.agent("s1").turn("write", {"a.txt": "a\n"})
    git("add", "a.txt")
    (tmp_path / "message").write_text("subject\n")
    ways = {"-m": ["-m", "subject"], "-F": ["-F", str(tmp_path / "message")], "editor": []}
    world.git("commit", "-q", *ways[named])
    assert len(world.ids("HEAD")) == 1
    assert world.git("log", "-1", "--format=%s").startswith("T-1: ")
    assert gitcp("doctor") == ALL_WELL
    world.close()


def test_what_the_person_removes_stays_removed_though_a_script_of_theirs_ran(
    repo: Path, tmp_path: Path
) -> None:
    write(repo / ".git" / "hooks" / "prepare-commit-msg", '#!/bin/sh\necho >>"$1"\n')
    gitcp("enable")
    editor = "sed -i -e '1s/^/mine/' -e '/^Entire-Checkpoint/d'"
    world = World(repo, tmp_path / "home", {"GIT_EDITOR": editor})
    world.agent("s1").turn("write", {"a.txt": "a\n"})
    git("add", "a.txt")
    world.git("commit", "-q")
    assert world.ids("HEAD") == []
    assert world.git("for-each-ref", "refs/notes/gitcp") == ""
    world.close()


def test_a_commit_whose_message_git_does_not_check_is_linked_by_a_note(
    repo: Path, tmp_path: Path
) -> None:
    write(repo / ".git" / "hooks" / "prepare-commit-msg", REWRITES)
    gitcp("enable")
    world = World(repo, tmp_path / "home")
    world.agent("s1").turn("write", {"a.txt": "a\n"})
    git("add", "a.txt")
    world.git("commit", "-q", "--no-verify", "-m", "subject")
    assert "Entire-Checkpoint" in world.git("log", "-1", "--format=%N", "--notes=gitcp")
    world.close()


def test_a_push_that_a_script_of_theirs_refuses_sends_nothing(repo: Path, tmp_path: Path) -> None:
    told = make_pre_push(repo / ".git" / "hooks" / "pre-push", status=1)
    gitcp("enable")
    assert list_files(repo) == ["pre-push", "pre-push.before-gitcp"]
    world = World(repo, tmp_path / "home")
    bare = world.remote("origin")
    git("config", "gitcp.remote", "origin")
    assert is_linked(world, "one")
    world.git("push", "-q", "origin", "main", ok=False)
    assert "refs/heads/main" in told.read_text()
    assert git("for-each-ref", "refs/heads/entire", cwd=bare) == ""
    make_pre_push(repo / ".git" / "hooks" / "pre-push.before-gitcp")
    world.git("push", "-q", "origin", "main")
    assert git("rev-parse", V1, cwd=bare) == world.git("rev-parse", V1)
    gitcp("disable", "--uninstall")
    assert list_files(repo) == ["pre-push"]
    world.close()


def test_where_their_script_is_the_last_nothing_is_sent_and_that_is_said(
    repo: Path, tmp_path: Path
) -> None:
    enable_for_person()
    world = World(repo, tmp_path / "home")
    bare = world.remote("origin")
    git("config", "gitcp.remote", "origin")
    told = make_pre_push(repo / ".git" / "hooks" / "pre-push")
    assert is_linked(world, "one")
    done = subprocess.run(
        ["git", "push", "-q", "origin", "main"], capture_output=True, text=True, check=True
    )
    assert "no checkpoints are sent" in done.stderr and "'gitcp enable'" in done.stderr
    assert "refs/heads/main" in told.read_text()
    assert git("for-each-ref", "refs/heads/entire", cwd=bare) == ""
    assert "pre-push in" in gitcp("status")
    gitcp("enable")
    assert list_files(repo) == ["pre-push", "pre-push.before-gitcp"]
    assert is_linked(world, "two")
    world.git("push", "-q", "origin", "main")
    assert git("rev-parse", V1, cwd=bare) == world.git("rev-parse", V1)
    assert gitcp("doctor") == ALL_WELL
    world.close()


def test_beside_the_pre_push_of_git_lfs_checkpoints_are_sent(repo: Path, tmp_path: Path) -> None:
    """It writes its own hooks by itself, and refuses only what it cannot send."""
    write(tmp_path / "bin" / "git-lfs", "#!/bin/sh\ncat >/dev/null\n")
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    write(repo / ".git" / "hooks" / "pre-push", '#!/bin/sh\ngit lfs pre-push "$@"\n')
    gitcp("enable")
    assert list_files(repo) == ["pre-push"]
    world = World(repo, tmp_path / "home", {"PATH": path})
    bare = world.remote("origin")
    gitcp("push", "--to", "origin")
    assert is_linked(world, "one")
    world.git("push", "-q", "origin", "main")
    assert git("rev-parse", V1, cwd=bare) == world.git("rev-parse", V1)
    world.close()


@pytest.mark.parametrize("order", ["old new", "new old"])
def test_old_and_new_gits_in_one_repository_link_each_commit(
    repo: Path, tmp_path: Path, monkeypatch: Env, order: str
) -> None:
    paths = {"old": gits.find_older(), "new": gits.find_newer()}
    for which in order.split():
        monkeypatch.setenv("PATH", paths[which])
        if order == "new old" and which == "old":
            for command in ("status", "doctor"):
                assert "this git is older than 2.54" in run(command).stdout
        gitcp("enable")
    assert list_files(repo) == sorted(hook_texts.WRITTEN)
    world = World(repo, tmp_path / "home")
    for name in ("new", "old", "new"):
        monkeypatch.setenv("PATH", paths[name])
        assert is_linked(world, f"{name}{len(world.git('log', '--format=%h'))}")
        assert gitcp("doctor") == ALL_WELL
    monkeypatch.setenv("PATH", paths["old"])
    gitcp("disable", "--uninstall")
    assert list_files(repo) == []
    assert "gitcp" not in (repo / ".git" / "config").read_text()
    world.close()


def test_a_hook_that_is_switched_off_in_the_configuration_is_named(repo: Path) -> None:
    gitcp("enable")
    git("config", "hook.gitcp-post-commit.enabled", "false")
    assert "post-commit" in gitcp("status")


def test_a_program_that_is_gone_and_commands_of_an_older_gitcp_are_replaced(repo: Path) -> None:
    gitcp("enable")
    key = "hook.gitcp-post-commit.command"
    command = git("config", key)
    git("config", key, command.replace("py='", "py='/gone"))
    assert "which is gone" in gitcp("status")
    git("config", key, command.replace("exit 0", "exit"))
    assert f"{key.rpartition('.')[0]} was written by an older gitcp" in run("doctor").stdout
    gitcp("enable")
    assert git("config", key) == command
