"""gitcp disable: silence, and taking out exactly what is ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.cmd.setup import disable, enable
from gitcp.errors import Error, UsageError
from gitcp.setup import hook_texts
from tests.support.harness import World
from tests.support.installed import ENTIRE, commands, git, ours, snapshot, write
from tests.support.warm import run

ALL = ["--agent=claude-code", "--agent=gemini-cli", "--agent=codex"]
MINE = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]},"z":1.50}'


def uninstall(*more: str) -> None:
    assert disable.run(["--uninstall", *more]) == 0


def dirs(top: Path) -> set[Path]:
    return {p for p in top.rglob("*") if p.is_dir() and "gitcp" not in p.parts}


def test_disable_silences_until_enable(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enable.run([])
    disable.run([])
    assert (repo / ".git/gitcp/off").exists()
    disable.run([])
    enable.run([])
    assert not (repo / ".git/gitcp/off").exists()
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith(("disabled ", "gitcp is "))] == [
        "disabled gitcp here; 'gitcp enable' wakes it",
        "gitcp is disabled here already",
        "gitcp is awake again here",
    ]


def test_files_that_nobody_touched_are_as_before_to_the_byte(repo: Path) -> None:
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\necho hi\n", 0o700)
    write(repo / ".git/hooks/pre-push", ENTIRE, 0o711)
    write(repo / ".git/hooks/pre-push.pre-entire", "#!/bin/sh\n")
    write(repo / ".claude/settings.local.json", MINE, 0o600)
    write(repo / ".claude/settings.json", MINE.replace('"mine"', '"entire hooks x y"'), 0o644)
    write(repo / ".codex/hooks.json", "", 0o644)
    write(repo / ".git/info/exclude", "# no newline", 0o644)
    write(repo / ".entire/settings.json", '{"strategy": "dual"}', 0o644)
    before, folders = snapshot(repo), dirs(repo)
    enable.run([*ALL, "--strategy=auto-commit"])
    enable.run([*ALL, "--strategy=manual-commit", "--shared"])
    assert snapshot(repo) != before
    uninstall()
    assert snapshot(repo) == before and dirs(repo) == folders
    assert not (repo / ".git/gitcp/installed").exists()


def test_what_was_not_there_is_gone_with_its_directories(repo: Path) -> None:
    before, folders = snapshot(repo), dirs(repo)
    enable.run(ALL)
    uninstall()
    assert snapshot(repo) == before and dirs(repo) == folders


def test_one_agent_is_taken_out_and_the_others_are_still_recorded(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run(["--agent=gemini-cli", "--agent=codex"])
    before = snapshot(repo)
    enable.run(["--agent=claude-code"])
    capsys.readouterr()
    assert disable.run(["-n", "--agent", "claude"]) == 0
    path = repo / ".claude/settings.local.json"
    assert capsys.readouterr().out == f"would remove '{path}'\n" and path.exists()
    assert disable.run(["--agent", "claude"]) == 0
    assert capsys.readouterr().out == f"removed '{path}'\n"
    after = snapshot(repo)
    assert after.keys() == before.keys() and ours(repo / ".git/hooks")
    assert not path.parent.exists()
    with pytest.raises(Error, match="no hooks of 'claude-code' are installed here"):
        disable.run(["--agent=claude-code"])
    with pytest.raises(UsageError, match="unknown agent 'nobody'"):
        disable.run(["--agent=nobody"])


def test_a_touched_settings_file_loses_only_our_entries(repo: Path) -> None:
    write(repo / ".claude/settings.local.json", MINE, 0o644)
    enable.run([])
    path = repo / ".claude/settings.local.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "new": True}))
    uninstall()
    assert json.loads(path.read_text()) == {**json.loads(MINE), "new": True}


def test_comments_line_ends_and_order_of_touched_settings_stay_to_the_byte(repo: Path) -> None:
    text = '\ufeff// mine\r\n{\r\n\t"z": 1.50, // why, so\r\n\t"a": [ ],\r\n}'
    path = repo / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    enable.run(["--agent=gemini-cli"])
    there = path.read_bytes().decode()
    assert there.startswith(text[:-3]) and " gemini-cli BeforeTool" in there
    path.write_bytes(there.replace("1.50", "1.51").encode())
    enable.run(["--agent=gemini-cli"])
    uninstall()
    assert path.read_bytes().decode() == text.replace("1.50", "1.51")


@pytest.mark.parametrize(("text", "left"), [("{}", True), (None, False)])
def test_settings_with_nothing_left_go_only_if_we_made_them(
    repo: Path, text: str | None, left: bool
) -> None:
    path = repo / ".claude/settings.local.json"
    if text is not None:
        write(path, text)
    enable.run([])
    path.write_text(path.read_text() + "\n")
    uninstall()
    assert path.exists() is left and path.parent.exists() is left


def test_a_touched_exclude_file_and_configuration_keep_the_rest(repo: Path) -> None:
    write(repo / ".git/info/exclude", "*.o\n", 0o644)
    enable.run(["--strategy=auto-commit"])
    with open(repo / ".git/info/exclude", "a") as f:
        f.write("*.a\n")
    git("config", "user.name", "somebody")
    uninstall()
    assert (repo / ".git/info/exclude").read_text() == "*.o\n*.a\n"
    assert "gitcp" not in (repo / ".git/config").read_text()
    assert git("config", "user.name") == "somebody\n"


def test_a_value_the_person_changed_since_stays(repo: Path) -> None:
    enable.run(["--strategy=auto-commit"])
    git("config", "gitcp.strategy", "manual-commit")
    uninstall()
    assert git("config", "gitcp.strategy") == "manual-commit\n"


def test_a_touched_hook_loses_only_our_part_and_still_calls_theirs(repo: Path) -> None:
    hook = repo / ".git/hooks/post-commit"
    write(hook, "#!/bin/sh\necho theirs >>ran\n")
    enable.run([])
    hook.write_text(hook.read_text() + "echo mine >>ran\n")
    uninstall()
    assert "gitcp hook" not in hook.read_text()
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert (repo / "ran").read_text() == "theirs\nmine\n"


def test_a_hook_that_replaced_ours_is_left_alone(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run([])
    write(repo / ".git/hooks/pre-push", "#!/bin/sh\n")
    uninstall()
    assert (repo / ".git/hooks/pre-push").read_text() == "#!/bin/sh\n"
    assert "left '" in capsys.readouterr().out


def test_theirs_comes_back_when_our_hook_was_deleted(repo: Path) -> None:
    write(repo / ".git/hooks/pre-push", "#!/bin/sh\n")
    enable.run([])
    (repo / ".git/hooks/pre-push").unlink()
    uninstall()
    assert (repo / ".git/hooks/pre-push").read_text() == "#!/bin/sh\n"
    assert not (repo / ".git/hooks/pre-push.before-gitcp").exists()


def test_checkpoints_and_sessions_stay(repo: Path) -> None:
    git("branch", "entire/checkpoints/v1")
    write(repo / ".git/entire-sessions/s1.json", '{"session_id": "s1"}', 0o600)
    enable.run([])
    uninstall()
    assert git("branch", "--list", "entire/*").split() == ["entire/checkpoints/v1"]
    assert (repo / ".git/entire-sessions/s1.json").exists()


def test_own_settings_are_taken_out_only_when_asked(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    path = tmp_path / "home/.claude/settings.json"
    enable.run(["--user"])
    uninstall()
    assert commands(path) and not ours(repo / ".git/hooks")
    uninstall("--user")
    assert not path.exists() and not path.parent.exists()


def test_a_repository_that_was_moved_is_uninstalled(repo: Path, tmp_path: Path) -> None:
    before = snapshot(repo)
    enable.run([])
    moved = Path(shutil.move(repo, tmp_path / "moved"))
    os.chdir(moved)
    uninstall()
    assert snapshot(moved) == before


def test_a_dry_run_takes_out_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enable.run([])
    (repo / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    before = snapshot(repo)
    capsys.readouterr()
    uninstall("--dry-run")
    disable.run(["--dry-run"])
    said = capsys.readouterr().out.splitlines()
    assert snapshot(repo) == before and not (repo / ".git/gitcp/off").exists()
    assert len(said) == len(hook_texts.WRITTEN) + 3
    assert sum("edited since" in line for line in said) == 1


def test_a_line_break_in_a_path_is_escaped(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo.rename(repo.with_name("two\nlines")))
    enable.run(["--agent=claude-code", "--verbose"])
    uninstall("--dry-run")
    uninstall()
    said = capsys.readouterr().out.splitlines()
    assert not [line for line in said if line.startswith("lines/")]
    assert len([line for line in said if "two\\nlines/.git/hooks/post-commit'" in line]) == 3


def test_what_is_not_installed_is_said(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uninstall()
    assert capsys.readouterr().out == "gitcp is not installed here\n"


def test_an_interrupted_enable_is_finished_by_the_next(repo: Path) -> None:
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\n")
    before = snapshot(repo)
    enable.run([])
    # Killed after theirs was kept and before ours was renamed into place.
    hook = repo / ".git/hooks/post-commit"
    shutil.copy2(hook.with_name("post-commit.before-gitcp"), hook)
    enable.run([])
    assert ours(repo / ".git/hooks") == list(hook_texts.HOOKS)
    uninstall()
    assert snapshot(repo) == before


def test_two_at_once_leave_one_installation(repo: Path) -> None:
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\necho hi\n")
    before = snapshot(repo)
    top = Path(enable.__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(top)}
    python = [sys.executable, "-m", "gitcp", "enable"]
    running = [subprocess.Popen(python, cwd=repo, env=env) for _ in range(4)]
    assert [p.wait() for p in running] == [0] * 4
    uninstall()
    assert snapshot(repo) == before


def test_it_is_not_known_who_wrote_what_changed_while_gitcp_was_disabled(world: World) -> None:
    (world.path / "a.txt").write_text("1\n2\n3\n")
    world.commit("a.txt")
    agent = world.agent("s")
    agent.turn("the first", {"a.txt": "one\n2\n3\n"})
    world.git("config", "gitcp.look-budget", "0")
    world.git("worktree", "add", "-q", "../broken")
    (world.path.parent / "broken" / ".git").write_text("nothing\n")
    run("disable", cwd=world.path)
    (world.path / "a.txt").write_text("one\ntwo\n3\n")  # as by an agent, whose hooks are silent
    assert run("enable", cwd=world.path).returncode == 0
    agent.turn("the third", {"a.txt": "one\ntwo\nthree\n"})
    world.commit("a.txt")
    told = [run("why", f"a.txt:{line}", cwd=world.path).stdout for line in (1, 2, 3)]
    assert "the first" in told[0] and "the third" in told[2], told
    assert "by a program it did not see" in told[1], told
