"""The original program's entries in settings that git tracks: colleagues' who use it, not ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitcp.cmd.setup import disable, enable
from tests.support.installed import commands, git, snapshot, write

ENTRY = {"type": "command", "command": "entire hooks claude-code stop"}
SETTINGS = json.dumps({"hooks": {"Stop": [{"matcher": "", "hooks": [ENTRY]}]}}) + "\n"
OFF = Path(".entire/settings.local.json")


@pytest.fixture
def theirs(repo: Path) -> Path:
    """A repository that carries the original's settings and Claude Code's with its entries."""
    write(repo / ".claude/settings.json", SETTINGS, 0o644)
    write(repo / ".entire/settings.json", '{"enabled": true}\n', 0o644)
    git("add", ".claude", ".entire")
    git("commit", "-q", "-m", "colleagues use Entire")
    return repo


def switched_off(top: Path) -> bool:
    return json.loads((top / OFF).read_text())["enabled"] is False


def test_enable_leaves_the_original_s_entries_in_tracked_settings(
    theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run([])
    assert (theirs / ".claude/settings.json").read_text() == SETTINGS
    assert git("status", "--porcelain") == ""
    assert switched_off(theirs)
    said = capsys.readouterr().out
    assert f"{OFF}'" in said and "was disabled" not in said
    enable.run([])
    assert "nothing to do" in capsys.readouterr().out


def test_uninstall_lets_the_original_run_again(theirs: Path) -> None:
    write(theirs / OFF, '{"log_level": "debug", "enabled": true}\n', 0o644)
    before = snapshot(theirs)
    enable.run([])
    assert switched_off(theirs) and json.loads((theirs / OFF).read_text())["log_level"] == "debug"
    disable.run(["--uninstall"])
    assert snapshot(theirs) == before


def test_uninstall_keeps_what_was_written_beside_the_switch_since(theirs: Path) -> None:
    enable.run([])
    (theirs / OFF).write_text('{"enabled": false, "log_level": "debug"}\n')
    disable.run(["--uninstall"])
    assert json.loads((theirs / OFF).read_text()) == {"log_level": "debug"}


@pytest.mark.parametrize("option", ["--force", "--shared"])
def test_tracked_settings_are_written_when_that_is_told(theirs: Path, option: str) -> None:
    enable.run([option])
    path = theirs / ".claude/settings.json"
    there = commands(path) if "hooks" in json.loads(path.read_text()) else []
    assert (ENTRY["command"] in there) is (option == "--shared")
    assert (theirs / OFF).exists() is (option == "--shared")
    assert any("gitcp-hook" in command for command in there) is (option == "--shared")


def test_entries_in_settings_that_are_not_tracked_go_as_before(repo: Path) -> None:
    write(repo / ".claude/settings.json", SETTINGS, 0o644)
    enable.run([])
    assert json.loads((repo / ".claude/settings.json").read_text()) == {}
    assert not (repo / OFF).exists()


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_switch_that_cannot_be_read_is_left_and_said(
    theirs: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(theirs / OFF, text, 0o644)
    enable.run([])
    assert (theirs / OFF).read_text() == text
    assert (theirs / ".claude/settings.local.json").exists()
    said = capsys.readouterr()
    assert f"{OFF}'" in said.out + said.err and "both programs" in said.out + said.err


def test_a_switch_that_is_tracked_is_left_and_said(
    theirs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(theirs / OFF, "{}\n", 0o644)
    git("add", "-f", str(OFF))
    enable.run([])
    assert (theirs / OFF).read_text() == "{}\n"
    assert "both programs" in capsys.readouterr().out


def test_a_new_worktree_has_the_original_switched_off_too(theirs: Path, tmp_path: Path) -> None:
    enable.run([])
    at = tmp_path / "linked"
    git("worktree", "add", "-q", str(at), "-b", "side")
    assert switched_off(at)
    assert git("status", "--porcelain", cwd=at) == ""
    disable.run(["--uninstall"])
    assert not os.path.lexists(at / OFF)
