"""A linked worktree that git makes gets the entries of the clients that look only there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gitcp.cmd.care import doctor
from gitcp.cmd.setup import disable, enable, status
from tests.support.installed import commands, git, write
from tests.support.screens import ALL_WELL

OTHERS = ["--agent=claude-code", "--agent=codex", "--agent=cline", "--agent=opencode"]


def add(path: Path, *more: str) -> str:
    """What git said of a new worktree."""
    argv = ["git", "worktree", "add", "-q", *more, str(path)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_it_gets_them_kept_out_of_commits_and_they_go_with_an_uninstall(
    repo: Path, tmp_path: Path
) -> None:
    enable.run(OTHERS)
    assert add(tmp_path / "linked") == ""
    there = tmp_path / "linked"
    assert any("codex Stop" in command for command in commands(there / ".codex/hooks.json"))
    assert os.access(there / ".clinerules/hooks/TaskStart", os.X_OK)
    assert (there / ".opencode/plugins/gitcp.js").read_bytes() == (
        repo / ".opencode/plugins/gitcp.js"
    ).read_bytes()
    # Some versions of its client look in the main worktree, others only here.
    assert commands(there / ".claude/settings.local.json")
    assert git("status", "--porcelain", cwd=there) == ""
    watched = (repo / ".git/worktrees/linked/gitcp/watched").read_text().splitlines()
    assert ".codex/hooks.json" in watched
    assert disable.run(["--uninstall"]) == 0
    assert sorted(path.name for path in there.iterdir()) == [".git", "README.md", "src"]


def test_beside_a_bare_repository_the_client_looks_there_and_all_is_well(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    monkeypatch.chdir(tmp_path / "bare.git")
    add(tmp_path / "linked", "-b", "two")
    monkeypatch.chdir(tmp_path / "linked")
    enable.run(OTHERS[:1])
    assert (tmp_path / "linked" / ".claude" / "settings.local.json").exists()
    capsys.readouterr()
    doctor.run([])
    assert "settings have no such hooks" not in capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "bare.git")
    doctor.run([])
    assert capsys.readouterr().out == ALL_WELL


def test_the_client_started_there_is_recorded(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run(["--agent=codex"])
    add(tmp_path / "linked")
    monkeypatch.chdir(tmp_path / "linked")
    given = {"session_id": "s1", "cwd": os.getcwd(), "turn_id": "t", "prompt": "go"}
    for command in commands(Path(".codex/hooks.json")):
        if command.endswith(" codex UserPromptSubmit"):
            subprocess.run(["sh", "-c", command], input=json.dumps(given), text=True, check=True)
    assert (repo / ".git/entire-sessions/s1.json").exists()
    capsys.readouterr()
    status.run([])
    assert "codex" not in capsys.readouterr().err


def test_what_is_tracked_or_somebodys_or_for_all_stays_as_it_is(repo: Path, tmp_path: Path) -> None:
    enable.run(["--agent=codex", "--shared"])
    add(tmp_path / "shared")
    assert not (tmp_path / "shared/.codex").exists()
    enable.run(["--agent=codex"])
    git("add", "-f", ".codex/hooks.json")
    git("commit", "-q", "-m", "ours")
    tracked = (repo / ".codex/hooks.json").read_bytes()
    add(tmp_path / "tracked")
    assert (tmp_path / "tracked/.codex/hooks.json").read_bytes() == tracked
    assert git("status", "--porcelain", cwd=tmp_path / "tracked") == ""


def test_a_checkout_a_disabled_gitcp_and_a_worktree_without_agents_get_none(
    repo: Path, tmp_path: Path
) -> None:
    enable.run(["--agent=claude-code", "--user"])
    add(tmp_path / "claudes")
    assert sorted(path.name for path in (tmp_path / "claudes").iterdir())[:2] == [
        ".git",
        "README.md",
    ]
    enable.run(["--agent=codex", "--user"])
    git("checkout", "-q", "-b", "other", cwd=tmp_path / "claudes")
    assert not (tmp_path / "claudes/.codex").exists()
    disable.run([])
    add(tmp_path / "off")
    assert not (tmp_path / "off/.codex").exists()


@pytest.mark.thorough
@pytest.mark.usefixtures("older_git")
def test_a_hook_of_the_persons_runs_too_and_its_status_is_gits(repo: Path, tmp_path: Path) -> None:
    write(repo / ".git/hooks/post-checkout", '#!/bin/sh\necho "$3" >"$0.ran"\nexit 4\n')
    enable.run(["--agent=codex"])
    argv = ["git", "worktree", "add", "-q", str(tmp_path / "linked")]
    assert subprocess.run(argv).returncode == 4
    assert (tmp_path / "linked/.codex/hooks.json").exists()
    assert (repo / ".git/hooks/post-checkout.before-gitcp.ran").read_text() == "1\n"


@pytest.mark.thorough
def test_the_record_forgets_worktrees_that_are_gone(repo: Path, tmp_path: Path) -> None:
    enable.run(["--agent=codex"])
    add(tmp_path / "one")
    git("worktree", "remove", "--force", str(tmp_path / "one"))
    add(tmp_path / "two")
    manifest = json.loads((repo / ".git/gitcp/installed/manifest.json").read_text())
    paths = [entry["path"] for entry in manifest["files"] if entry["agent"]]
    assert sorted(Path(path).parent.parent.name for path in paths) == ["..", "two"]


@pytest.mark.thorough
def test_by_hand_the_same_is_done_and_said(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run(["--agent=codex"])
    add(tmp_path / "linked", "--no-checkout")
    monkeypatch.chdir(tmp_path / "linked")
    capsys.readouterr()
    enable.run(["--worktree", "--dry-run"])
    enable.run(["--worktree"])
    enable.run(["--worktree"])
    path = str(tmp_path / "linked/.codex/hooks.json")
    assert capsys.readouterr().out.splitlines() == [
        f"would write the hooks of Codex into '{path}'",
        "recording Codex here from now on",
        "gitcp is enabled here already: nothing to do",
    ]


def findings(capsys: pytest.CaptureFixture[str], kind: str) -> list[tuple[str, str]]:
    """(reason, remedy) of what status finds of a kind."""
    capsys.readouterr()
    status.run(["--json"])
    about = json.loads(capsys.readouterr().out.splitlines()[0])
    return [(one["reason"], one["remedy"]) for one in about["findings"] if one["kind"] == kind]


@pytest.mark.thorough
def test_enable_writes_into_the_worktrees_that_are_there_and_git_removes_them(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(tmp_path / "before")
    enable.run(OTHERS)
    for path in (".claude/settings.local.json", ".codex/hooks.json"):
        assert commands(tmp_path / "before" / path)
    assert git("status", "--porcelain", cwd=tmp_path / "before") == ""
    git("worktree", "remove", str(tmp_path / "before"))
    assert findings(capsys, "worktree") == []


@pytest.mark.thorough
def test_a_worktree_that_was_made_without_hooks_is_named_in_the_main_one(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run(["--agent=claude-code", "--agent=codex"])
    argv = ["git", "-c", "core.hooksPath=/dev/null", "worktree", "add", "-q"]
    subprocess.run([*argv, str(tmp_path / "bare")], check=True)
    reason = f"'{tmp_path / 'bare'}' has no hooks of Claude Code, Codex"
    assert findings(capsys, "worktree") == [(reason, "gitcp enable")]
    enable.run([])
    assert findings(capsys, "worktree") == []
    assert commands(tmp_path / "bare" / ".codex/hooks.json")


@pytest.mark.thorough
def test_each_worktree_says_whether_hooks_have_run_in_it(
    repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = tmp_path / "bin" / "2.1.200"
    write(program, "#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "bin" / "claude").symlink_to(program)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    enable.run(["--agent=claude-code"])
    add(tmp_path / "linked")
    silent = "the hooks of Claude Code (2.1.200) have not run in this worktree yet"
    for top, other in ((repo, tmp_path / "linked"), (tmp_path / "linked", repo)):
        monkeypatch.chdir(top)
        assert findings(capsys, "silent-agent") == [(silent, "start it here once")]
        given = {"session_id": f"in-{top.name}", "cwd": str(top), "prompt": "go"}
        for command in commands(Path(".claude/settings.local.json")):
            if command.endswith(" claude-code UserPromptSubmit"):
                subprocess.run(["sh", "-c", command], input=json.dumps(given), text=True)
        assert findings(capsys, "silent-agent") == []
        if other != repo:
            monkeypatch.chdir(other)
            assert findings(capsys, "silent-agent") == [(silent, "start it here once")]
