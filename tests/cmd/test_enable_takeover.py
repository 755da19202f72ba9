"""gitcp enable where there is data already, of the original program too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitcp.cmd.care import doctor
from gitcp.cmd.setup import enable, status
from gitcp.errors import Error
from tests.support.installed import ENTIRE, git, write

_CALL = "entire hooks claude-code {}"


@pytest.mark.parametrize("name", ["entire", "entire/checkpoints"])
def test_a_branch_in_the_way_is_named_before_anything_is_written(repo: Path, name: str) -> None:
    git("branch", name)
    with pytest.raises(Error, match=f"branch '{name}' is in the way"):
        enable.run([])
    assert not (repo / ".git/gitcp").exists() and not (repo / ".git/hooks").exists()


def test_stored_data_that_is_there_is_announced(repo: Path) -> None:
    git("branch", "entire/checkpoints/v1")
    enable.run([])
    assert (repo / ".git/gitcp/linked").exists() and (repo / ".git/gitcp/unpushed").exists()


def test_tracked_hooks_of_entire_that_enable_switched_off_are_no_finding(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("Stop", "SessionStart")
    hooks = {n: [{"hooks": [{"type": "command", "command": _CALL.format(n)}]}] for n in names}
    path = repo / ".claude/settings.json"
    write(path, json.dumps({"hooks": hooks}), 0o644)
    git("add", "-f", str(path))
    enable.run(["--agent=claude-code"])
    capsys.readouterr()
    doctor.run([])
    assert "Entire" not in capsys.readouterr().out
    (repo / ".entire/settings.local.json").unlink()
    doctor.run([])
    said = capsys.readouterr().out
    assert said.count("record the same work") == 1 and f"Entire's hooks in '{path}'" in said
    assert "'gitcp enable --agent claude-code'" in said
    enable.run(["--agent=claude-code"])
    assert "do nothing in this clone" in capsys.readouterr().out
    doctor.run([])
    assert "Entire" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("opencode", ".opencode/plugins/entire.ts"),
        ("pi", ".pi/extensions/entire/index.ts"),
        ("copilot", ".github/hooks/entire.json"),
    ],
)
def test_tracked_files_of_entire_are_switched_off_in_this_clone_with_their_agent(
    repo: Path, agent: str, path: str
) -> None:
    write(repo / path, "as Entire wrote it\n", 0o644)
    git("add", "-f", path)
    git("commit", "-q", "-m", "record for all")
    switch = repo / ".entire/settings.local.json"
    enable.run(["--agent=codex"])
    assert not switch.exists()
    enable.run([f"--agent={agent}"])
    assert json.loads(switch.read_text())["enabled"] is False
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("opencode", ".opencode/plugins/entire.ts"),
        ("pi", ".pi/extensions/entire/index.ts"),
        ("copilot", ".github/hooks/entire.json"),
    ],
)
@pytest.mark.parametrize("is_tracked", [True, False], ids=["tracked", "untracked"])
def test_a_file_of_entires_own_is_a_finding_until_enable_has_switched_it_off(
    repo: Path, agent: str, path: str, is_tracked: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run([f"--agent={agent}"])
    write(repo / path, "as Entire wrote it\n", 0o644)
    if is_tracked:
        git("add", "-f", path)
        git("commit", "-q", "-m", "record for all")
    capsys.readouterr()
    status.run([])
    said = capsys.readouterr().out
    assert said.count("record the same work") == 1 and f"Entire's hooks in '{repo / path}'" in said
    assert f"'gitcp enable --agent {agent}'" in said
    enable.run([f"--agent={agent}"])
    assert "the hooks of Entire do nothing in this clone" in capsys.readouterr().out
    status.run([])
    assert "Entire" not in capsys.readouterr().out
    assert (repo / path).read_text() == "as Entire wrote it\n"


def test_enable_takes_over_from_the_original_program(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repo / ".git/hooks/post-commit", ENTIRE + '"$0.pre-entire"\n')
    write(repo / ".git/hooks/post-commit.pre-entire", "#!/bin/sh\necho x >>ran\n")
    entry = {"type": "command", "command": "entire hooks claude-code stop"}
    given = {"a": 1, "hooks": {"Stop": [{"matcher": "", "hooks": [entry]}]}}
    write(repo / ".claude/settings.json", json.dumps(given), 0o644)
    options = {"push_sessions": False, "disable-multisession-warning": False}
    given = {"strategy": "dual", "enabled": False, "strategy_options": options}
    write(repo / ".entire/settings.json", json.dumps(given), 0o644)
    git("config", "gitcp.push", "true")
    enable.run([])
    said = capsys.readouterr().out
    assert "took over" in said and "took Entire's hooks out" in said and "was disabled" in said
    assert json.loads((repo / ".claude/settings.json").read_text()) == {"a": 1}
    assert git("config", "gitcp.strategy") == "auto-commit\n"
    assert git("config", "gitcp.push") == "true\n"
    assert git("config", "gitcp.enable-multisession-warning") == "true\n"
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert (repo / "ran").read_text() == "x\n"
    enable.run([])
    assert "nothing to do" in capsys.readouterr().out


def test_unsettled_sessions_of_the_original_program_can_match_a_commit(repo: Path) -> None:
    base = git("rev-parse", "HEAD").strip()
    (repo / "made.py").write_text("x = 1\n")
    git("add", "made.py")
    tree = git("write-tree").strip()
    git("reset", "-q")
    message = "Prompt\n\nEntire-Session: s1\nEntire-Strategy: manual-commit\n"
    tip = git("commit-tree", tree, "-m", message).strip()
    git("update-ref", f"refs/heads/entire/{base[:7]}-e3b0c4", tip)
    state = {"session_id": "s1", "base_commit": base, "checkpoint_count": 1, "phase": "ended",
             "worktree_path": str(repo), "files_touched": ["made.py"], "odd": 7}  # fmt: skip
    write(repo / ".git/entire-sessions/s1.json", json.dumps(state), 0o600)
    enable.run([])
    marker = json.loads((repo / ".git/gitcp/open/s1").read_text())
    assert len(marker["streams"]) == 1
    kept = json.loads((repo / ".git/entire-sessions/s1.json").read_text())
    assert kept["odd"] == 7 and kept["files_touched"] == ["made.py"]
