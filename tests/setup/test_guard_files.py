"""What enable, status and agents' events leave for the sh guard, and what it does with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitcp.git import hook_warnings
from gitcp.git.repo import Repo
from gitcp.setup.clients import settings
from tests.support.harness import World
from tests.support.installed import write

STAGE = "!sh -c 'cat; echo {} >>.git/ran'"


def ran(world: World) -> list[str]:
    path = world.path / ".git/ran"
    lines = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


@pytest.mark.parametrize("hook", ["prepare-commit-msg", "commit-msg", "post-commit"])
def test_a_configured_pipeline_runs_at_every_commit(world: World, hook: str) -> None:
    world.git("config", f"gitcp.{hook}.pipeline", STAGE.format(hook))
    world.agent("s1").start()
    for _ in range(3):
        world.git("commit", "-q", "--allow-empty", "-m", "subject")
    assert ran(world) == [hook] * 3
    world.git("config", "--unset", f"gitcp.{hook}.pipeline")
    world.agent("s1").start()
    world.git("commit", "-q", "--allow-empty", "-m", "subject")
    assert ran(world) == [] and not list((world.path / ".git/gitcp/configured").iterdir())


@pytest.mark.parametrize("command", ["enable", "status", "hook --list"])
def test_commands_tell_the_guard_what_is_configured(world: World, command: str) -> None:
    world.git("config", "gitcp.post-commit.pipeline", STAGE.format("x"))
    world.gitcp(*command.split())
    world.git("commit", "-q", "--allow-empty", "-m", "subject")
    assert ran(world) == ["x"]
    world.gitcp("disable", "--uninstall")
    assert not (world.path / ".git/gitcp/configured").exists()


def test_a_worktree_with_a_configuration_of_its_own_has_pipelines_of_its_own(
    world: World, tmp_path: Path
) -> None:
    world.git("config", "extensions.worktreeConfig", "true")
    world.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    pipeline = ("gitcp.post-commit.pipeline", STAGE.format("x").replace(".git/", "../repo/.git/"))
    world.git("config", "--worktree", *pipeline, cwd=tmp_path / "other")
    world.agent("s1", cwd=tmp_path / "other").start()
    world.agent("s2").start()
    world.git("commit", "-q", "--allow-empty", "-m", "subject")
    assert ran(world) == []
    world.git("commit", "-q", "--allow-empty", "-m", "subject", cwd=tmp_path / "other")
    assert ran(world) == ["x"]


def test_a_hook_says_once_that_git_clean_took_the_settings(world: World) -> None:
    def commit() -> str:
        argv = ["git", "commit", "-q", "--allow-empty", "-m", "x"]
        return subprocess.run(argv, cwd=world.path, capture_output=True, text=True).stderr

    assert commit() == ""
    world.git("clean", "-q", "-fdx")
    assert commit().startswith("gitcp: '.claude/settings.local.json' is gone")
    assert commit() == ""
    world.gitcp("enable")
    world.git("clean", "-q", "-fdx")
    assert "is gone" in commit()


def settings_command(world: World, event: str, name: str = "settings.local.json") -> str:
    import json

    hooks = json.loads((world.path / ".claude" / name).read_text())["hooks"]
    return str(hooks[event][0]["hooks"][0]["command"])


def call(command: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run a hook's command as a client does, with nothing but system programs and path."""
    env = {**os.environ, "PATH": f"{path}:/usr/bin:/bin"}
    return subprocess.run(
        ["sh", "-c", command], input="{}", env=env, capture_output=True, text=True
    )


@pytest.mark.parametrize("gone", ["python", "entry"])
def test_an_agent_s_entry_of_an_installation_that_is_gone_uses_the_one_on_path(
    world: World, tmp_path: Path, gone: str
) -> None:

    other = tmp_path / "bin"
    write(other / "gitcp-hook", '#!/bin/sh\necho "$@"\nexit 2\n')
    for event in ("SessionStart", "PreToolUse"):
        command = settings_command(world, event)
        program = settings.parse_programs(command)[gone == "entry"]
        moved = command.replace(program, "/gone" + program)
        assert moved != command
        called = call(moved, str(other))
        assert (called.stdout, called.returncode) == (f"claude-code {event}\n", 2)


def test_a_client_is_told_once_a_session_that_gitcp_is_gone(world: World) -> None:
    start = settings_command(world, "SessionStart").replace("entry.py", "gone.py")
    message = call(start, "/nowhere")
    assert '{"systemMessage": "gitcp is not installed where it was' in message.stdout
    assert (message.stderr, message.returncode) == ("", 0)
    stop = call(settings_command(world, "Stop").replace("entry.py", "gone.py"), "/nowhere")
    assert (stop.stdout, stop.stderr, stop.returncode) == ("", "", 0)


def test_shared_settings_bother_nobody_without_gitcp(world: World) -> None:
    world.gitcp("enable", "--shared")
    for event in ("SessionStart", "Stop"):
        nothing = call(settings_command(world, event, "settings.json"), "/nowhere")
        assert (nothing.stdout, nothing.stderr, nothing.returncode) == ("", "", 0)


def test_a_session_in_a_clone_that_was_not_enabled_is_told_that_it_is_recorded(
    world: World,
) -> None:
    assert "others share" not in world.agent("s1").start().said
    shutil.rmtree(world.path / ".git/gitcp/installed")
    assert "recorded by hooks that others share" in world.agent("s2").start().said
    world.gitcp("disable")
    assert world.agent("s3").start().said == ""


@pytest.mark.usefixtures("older_git")
def test_a_session_is_told_that_git_s_hooks_are_gone(world: World) -> None:
    (world.path / ".git/hooks/post-commit").unlink()
    (world.path / ".git/hooks/pre-push").chmod(0o644)
    assert "(post-commit, pre-push)" in world.agent("s1").start().said
    world.gitcp("enable")
    assert "does not run" not in world.agent("s2").start().said


def test_the_last_twenty_warnings_of_hooks_are_kept_with_their_time(world: World) -> None:
    world.git("config", "gitcp.post-commit.pipeline", "no-such-stage")
    agent = world.agent("s1")
    agent.start()
    world.git("commit", "-q", "--allow-empty", "-m", "x", warns="no such stage")

    repo = Repo.find(str(world.path))
    ((seconds, message),) = hook_warnings.list_warnings(repo)
    assert seconds > 1.7e9 and "no such stage" in message
    for n in range(300):
        hook_warnings.keep_warning(repo, f"number {n}\n" + "x" * 100)
    kept = hook_warnings.list_warnings(repo)
    assert len(kept) == 20 and kept[-1][1].startswith("number 299 x")
    assert (world.path / ".git/gitcp/warnings").stat().st_size < 20000
