"""enable --global: every repository of a person, those to come and those that are there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gitcp.agents.claude_code import ClaudeCode
from gitcp.cmd.setup import enable as enabling
from tests.support.harness import World
from tests.support.screens import ALL_WELL
from tests.support.warm import run

Env = pytest.MonkeyPatch
HOOKS = "commit-msg post-checkout post-commit post-rewrite pre-push prepare-commit-msg".split()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: Env) -> Path:
    """The person's, with a configuration of git in it that may be written."""
    home = tmp_path / "home"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.delenv("GIT_TEMPLATE_DIR", raising=False)
    (home / "gitconfig").write_text("[user]\n\tname = A U Thor\n\temail = author@example.com\n")
    (home / ".claude").mkdir()
    return home


def git(at: Path, *args: str) -> str:
    return subprocess.check_output(["git", *args], cwd=at, text=True).rstrip("\n")


def made(at: Path) -> Path:
    """A new repository with a commit."""
    git(at.parent, "init", "-q", "-b", "main", str(at))
    (at / "a.txt").write_text("a\n")
    git(at, "add", "a.txt")
    git(at, "commit", "-q", "-m", "first")
    return at


def enable(*args: str) -> str:
    done = run("enable", "--global", "--agent=claude-code", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("older_git")
def test_a_new_repository_records_and_links_without_enable(home: Path, tmp_path: Path) -> None:
    assert "for new repositories" in enable()
    settings = json.loads((home / ".claude" / "settings.json").read_text())
    assert "UserPromptSubmit" in settings["hooks"]
    world = World(made(tmp_path / "new"), home)
    hooks = tmp_path / "new" / ".git" / "hooks"
    assert all(os.access(hooks / hook, os.X_OK) for hook in HOOKS)
    assert (tmp_path / "new" / ".git" / "info").is_dir(), "as git's own template has it"
    assert world.gitcp("status").startswith("on main at ") and ", recording" in world.gitcp(
        "status"
    )
    world.agent("s1", tools=True).turn("write", {"b.txt": "b\n"})
    assert world.gitcp("doctor") == ALL_WELL
    assert len(world.commit("b.txt")) == 1
    world.close()
    assert enable().splitlines()[0] == (
        "gitcp is enabled for new repositories, and in 0 of 0 that are there"
    )


@pytest.mark.usefixtures("older_git")
def test_repositories_that_are_there_are_set_up_and_their_own_hooks_are_called(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "repos").mkdir()
    at = made(tmp_path / "repos" / "there")
    own = at / ".git" / "hooks" / "post-commit"
    own.parent.mkdir(exist_ok=True)
    own.write_text("#!/bin/sh\necho own >>.git/called\n")
    own.chmod(0o755)
    made(tmp_path / "repos" / "off")
    (tmp_path / "repos" / "off" / ".git" / "gitcp").mkdir()
    (tmp_path / "repos" / "off" / ".git" / "gitcp" / "off").touch()
    git(
        made(tmp_path / "repos" / "theirs"), "config", "core.hooksPath", str(tmp_path / "elsewhere")
    )
    output = enable(str(tmp_path / "repos"))
    assert f"set up '{at}'" in output and "in 1 of 3 that are there" in output
    assert f"left out: {tmp_path}/repos/off: gitcp is disabled there" in output
    assert f"left out: {tmp_path}/repos/theirs: '{tmp_path}/elsewhere' is outside" in output
    git(at, "commit", "-q", "--allow-empty", "-m", "x")
    assert (at / ".git" / "called").read_text() == "own\n"


@pytest.mark.usefixtures("older_git")
def test_a_dry_run_says_what_enabling_everywhere_would_do_and_does_nothing(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "repos").mkdir()
    at = made(tmp_path / "repos" / "there")
    before = sorted(home.rglob("*")), sorted(at.rglob("*")), (home / "gitconfig").read_text()
    output = enable("-n", str(tmp_path / "repos"))
    after = sorted(home.rglob("*")), sorted(at.rglob("*")), (home / "gitconfig").read_text()
    assert after == before
    assert f"would set up '{at}'\n" in output
    assert "would set init.templateDir to" in output and "would write" in output
    assert "gitcp would be enabled for new repositories, and in 1 of 1 that are there" in output
    done = enable(str(tmp_path / "repos"))
    said, wrote = output.splitlines(), done.splitlines()
    assert [line.replace("would write", "wrote") for line in said[:1]] == wrote[:1]
    assert len(said) == len(wrote)


@pytest.mark.usefixtures("older_git")
def test_a_template_of_the_persons_is_left_out_or_called_with_force(
    home: Path, tmp_path: Path
) -> None:
    hook = tmp_path / "template" / "hooks" / "post-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\necho own >>.git/called\n")
    hook.chmod(0o755)
    with (home / "gitconfig").open("a") as f:
        f.write(f"[init]\n\ttemplateDir = {hook.parents[1]}\n")
    assert f"left out: '{tmp_path}/template' is init.templateDir" in enable()
    assert not (made(tmp_path / "one") / ".git" / "hooks" / "pre-push").exists()
    enable("--force")
    two = made(tmp_path / "two")
    assert (two / ".git" / "hooks" / "pre-push").exists()
    assert (two / ".git" / "called").read_text() == "own\n"


def test_a_configuration_of_git_that_is_no_file_is_refused_and_left_as_it_is(
    home: Path, monkeypatch: Env
) -> None:
    """git would put a file in its place: as root, also in the place of /dev/null."""
    special = home / "special"
    os.mkfifo(special)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(special))
    before = sorted(home.rglob("*"))
    done = run("enable", "--global", "--agent=claude-code")
    assert done.returncode == 128
    assert f"'{special}' is not a file" in done.stderr
    assert special.is_fifo() and sorted(home.rglob("*")) == before


def test_disable_takes_out_all_that_it_wrote(home: Path, tmp_path: Path) -> None:
    before = (home / "gitconfig").read_text()
    at = made(tmp_path / "there")
    enable(str(tmp_path / "there"))
    assert run("disable", "--uninstall", cwd=at).returncode == 0
    assert run("disable", "--uninstall", cwd=tmp_path).returncode == 128, "no repository"
    done = run("disable", "--uninstall", "--user", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (home / "gitconfig").read_text().replace("[init]\n", "") == before
    assert not (home / ".claude" / "settings.json").exists()
    assert not (at / ".git" / "hooks" / "post-commit").exists()
    assert not (made(tmp_path / "new") / ".git" / "hooks" / "post-commit").exists()


def test_policy_of_the_machine_holds_in_a_new_repository(
    home: Path, tmp_path: Path, monkeypatch: Env
) -> None:
    """What the system's configuration says, where neither the person nor the clone says more."""
    (tmp_path / "system").write_text("[gitcp]\n\tlink = note\n")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "system"))
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM", raising=False)
    enable()
    world = World(made(tmp_path / "new"), home)
    world.agent("s1", tools=True).turn("write", {"b.txt": "b\n"})
    assert world.commit("b.txt") == []
    assert "Entire-Checkpoint" in world.git("log", "-1", "--format=%N", "--notes=gitcp")
    world.close()


def test_settings_of_an_administrator_that_let_no_hooks_run_are_named(
    home: Path, tmp_path: Path, monkeypatch: Env, capsys: pytest.CaptureFixture[str]
) -> None:
    managed = tmp_path / "managed.json"
    managed.write_text('{"disableAllHooks": true}')
    monkeypatch.setattr(ClaudeCode, "MANAGED", (str(managed),))
    enabling.run(["--global", "--agent=claude-code"])
    assert f"left out: 'disableAllHooks' in '{managed}'" in capsys.readouterr().out
