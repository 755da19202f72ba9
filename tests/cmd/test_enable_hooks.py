"""gitcp enable: git's hooks, wherever git looks for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitcp.cmd.setup import enable
from gitcp.setup import hook_texts
from tests.support.installed import HOOKS, git, ours, write


def test_an_existing_hook_is_kept_and_still_runs(repo: Path) -> None:
    write(repo / ".git/hooks/post-commit", '#!/bin/sh\necho "$0" >ran\n')
    enable.run([])
    kept = repo / ".git/hooks/post-commit.before-gitcp"
    assert kept.read_text() == '#!/bin/sh\necho "$0" >ran\n'
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert (repo / "ran").exists()


def test_a_backup_is_never_overwritten(repo: Path) -> None:
    hook, kept = repo / ".git/hooks/pre-push", repo / ".git/hooks/pre-push.before-gitcp"
    write(kept, "older\n")
    write(hook, "newer\n")
    enable.run([])
    assert kept.read_text() == "newer\n"
    assert kept.with_name(kept.name + ".1").read_text() == "older\n"


def test_an_edited_hook_of_ours_is_left_alone_unless_forced(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enable.run([])
    hook = repo / ".git/hooks/post-commit"
    edited = hook.read_text() + "echo mine\n"
    hook.write_text(edited)
    enable.run([])
    assert hook.read_text() == edited and "was edited since" in capsys.readouterr().out
    enable.run(["--force"])
    assert "echo mine" not in hook.read_text()


def test_a_hook_of_another_installation_is_replaced(repo: Path) -> None:
    hook = repo / ".git/hooks/post-commit"
    write(hook, hook_texts.build_script("post-commit", "/gone/python", "/gone/entry.py"))
    enable.run([])
    assert "/gone/" not in hook.read_text()


@pytest.mark.parametrize("where", ["hooks dir", ".config/hooks"])
def test_the_directory_git_itself_names_is_used(repo: Path, where: str) -> None:
    git("config", "core.hooksPath", where)
    (repo / "src").mkdir(exist_ok=True)
    os.chdir(repo / "src")
    enable.run([])
    assert ours(repo / where) == HOOKS and not (repo / ".git/hooks").exists()
    assert git("status", "--porcelain") == ""


def test_hooks_outside_the_repository_are_written_only_when_forced(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "all hooks"
    git("config", "core.hooksPath", str(outside))
    enable.run([])
    said = capsys.readouterr().out
    assert not outside.exists() and "is outside the repository" in said
    assert all(f"{outside}/{h}: ! command -v gitcp-hook" in said for h in HOOKS)
    enable.run([])
    assert "nothing to do" not in capsys.readouterr().out
    enable.run(["--force"])
    assert ours(outside) == HOOKS


def test_a_tracked_hook_is_written_only_when_forced(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("config", "core.hooksPath", ".githooks")
    write(repo / ".githooks/post-commit", "#!/bin/sh\n")
    git("add", ".githooks")
    enable.run([])
    assert (repo / ".githooks/post-commit").read_text() == "#!/bin/sh\n"
    assert ours(repo / ".githooks") == [h for h in HOOKS if h != "post-commit"]
    assert f"{repo}/.githooks/post-commit: ! command" in capsys.readouterr().out
    assert git("status", "--porcelain") == "A  .githooks/post-commit\n"
    enable.run(["--force"])
    assert ours(repo / ".githooks") == HOOKS


def test_a_place_that_is_no_directory_means_git_runs_no_hooks(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("config", "core.hooksPath", os.devnull)
    enable.run(["--force"])
    assert "git runs no hooks here" in capsys.readouterr().out


def test_a_husky_hook_still_finds_its_script(repo: Path) -> None:
    git("config", "core.hooksPath", ".husky/_")
    write(repo / ".husky/_/.gitignore", "*\n", 0o644)
    write(repo / ".husky/_/h", 'n=$(basename "$0"); s=$(dirname "$(dirname "$0")")/$n; sh "$s"\n')
    write(repo / ".husky/_/post-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    write(repo / ".husky/post-commit", "echo ran >ran\n")
    enable.run([])
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert (repo / "ran").exists() and ours(repo / ".husky/_") == ["post-commit"]
    assert ours(repo / ".husky") == [hook for hook in HOOKS if hook != "post-commit"]


def test_a_linked_worktree_shares_hooks_and_local_settings(repo: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", str(tmp_path / "linked"))
    os.chdir(tmp_path / "linked")
    enable.run(["--agent=claude-code", "--agent=codex"])
    assert ours(repo / ".git/hooks") == HOOKS
    assert (repo / ".claude/settings.local.json").exists()
    assert not (tmp_path / "linked/.claude").exists()
    assert (tmp_path / "linked/.codex/hooks.json").exists()
    assert git("status", "--porcelain", cwd=repo) == git("status", "--porcelain") == ""


def test_a_worktree_of_a_bare_repository_works(repo: Path, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "b.git"))
    git("worktree", "add", "-q", str(tmp_path / "wt"), "main", cwd=tmp_path / "b.git")
    os.chdir(tmp_path / "wt")
    enable.run([])
    assert ours(tmp_path / "b.git/hooks") == HOOKS
    assert (tmp_path / "wt/.claude/settings.local.json").exists()


def test_a_submodule_is_a_repository_of_its_own(repo: Path, template: Path) -> None:
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(template), "sub")
    os.chdir(repo / "sub")
    enable.run([])
    assert ours(repo / ".git/modules/sub/hooks") == HOOKS and not ours(repo / ".git/hooks")
    assert git("status", "--porcelain") == ""
