"""gitcp enable: the hooks of agents, and what it refuses."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp import agents
from gitcp.cmd.back import resume
from gitcp.cmd.setup import attach, disable, enable
from gitcp.errors import Error, UsageError
from gitcp.setup.clients import enabling
from gitcp.terminal import cli
from tests.support.installed import HOOKS, commands, git, ours, snapshot, write
from tests.support.paths import TOP
from tests.support.warm import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.commands import Rows


def test_hooks_of_git_and_of_claude_code_are_installed(repo: Path) -> None:
    assert enable.run([]) == 0
    assert ours(repo / ".git/hooks") == HOOKS
    assert all(os.access(repo / ".git/hooks" / h, os.X_OK) for h in HOOKS)
    found = commands(repo / ".claude/settings.local.json")
    assert found and all(" -I -S " in c and "/gitcp/entry.py claude-code " in c for c in found)
    ends = json.loads((repo / ".claude/settings.local.json").read_text())["hooks"]["SessionEnd"]
    assert ends[0]["hooks"][0]["timeout"] == 10
    assert (repo / ".git/gitcp/cache/index").exists()
    assert git("status", "--porcelain") == ""


def test_a_second_run_changes_nothing_and_says_so(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\n")
    enable.run(["--agent=claude-code", "--agent=codex", "--agent=gemini-cli"])
    said = capsys.readouterr().out
    assert said.startswith("recording Claude Code, Codex, Gemini CLI here from now on; the hooks ")
    assert len(said.splitlines()) == 5, "who is recorded, two trusts, sending, what is next"
    before = snapshot(repo)
    enable.run(["--agent=claude-code", "--agent=codex", "--agent=gemini-cli"])
    assert snapshot(repo) == before
    assert capsys.readouterr().out == "gitcp is enabled here already: nothing to do\n"


def test_a_dry_run_writes_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(repo)
    enable.run(["--dry-run"])
    assert snapshot(repo) == before and not (repo / ".git/gitcp").exists()
    assert "would write '" in capsys.readouterr().out


def test_every_other_key_of_the_settings_stays(repo: Path) -> None:
    mine = {"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}
    write(repo / ".claude/settings.local.json", json.dumps(mine), 0o600)
    enable.run([])
    found = json.loads((repo / ".claude/settings.local.json").read_text())
    assert found["model"] == "x" and found["hooks"]["Stop"][0] == mine["hooks"]["Stop"][0]  # type: ignore[index]
    assert (repo / ".claude/settings.local.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', "\udcff"])
def test_settings_that_cannot_be_read_are_named_and_keep_no_other_agent_back(
    repo: Path, text: str
) -> None:
    path = repo / ".claude/settings.local.json"
    path.parent.mkdir()
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = path.read_bytes()
    for _ in range(2):
        done = run("enable", "--agent=claude-code", "--agent=gemini-cli")
        assert done.returncode == 1 and done.stderr.startswith(f"warning: '{path}': ")
        assert done.stderr.endswith("fix the file, then 'gitcp enable --agent claude-code'\n")
        assert "already" not in done.stdout and path.read_bytes() == before
        assert ours(repo / ".git/hooks") == HOOKS
        assert commands(repo / ".gemini/settings.json")
    path.unlink()
    assert run("enable", "--agent=claude-code", "--agent=gemini-cli").returncode == 0
    assert commands(path)


def test_settings_that_cannot_be_written_keep_no_other_agent_back(repo: Path) -> None:
    write(repo / ".claude", "not a directory")
    (repo / ".codex/hooks.json").mkdir(parents=True)
    done = run("enable", "--agent=claude-code", "--agent=codex", "--agent=gemini-cli")
    assert done.returncode == 1 and done.stderr.endswith(": claude-code is not set up\n")
    assert "Is a directory: codex is not set up" in done.stderr
    assert commands(repo / ".gemini/settings.json")
    assert "Claude Code is not recorded" in run("status").stdout
    assert run("disable", "--uninstall").returncode == 0
    assert not (repo / ".gemini").exists() and (repo / ".claude").read_text() == "not a directory"


def test_a_python_without_our_packages_is_named_before_anything_is_written(repo: Path) -> None:
    before = snapshot(repo)
    code = f"import sys; sys.path.append({str(TOP)!r}); sys.argv = ['gitcp', 'enable']"
    code += "; from gitcp.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-ISc", code], capture_output=True, text=True)
    assert done.stdout == "" and snapshot(repo) == before
    assert not (repo / ".git/gitcp").exists()
    assert done.stderr.endswith(f": make -C {TOP} setup\n")


def test_shared_settings_name_the_command_on_path(repo: Path) -> None:
    enable.run(["--shared"])
    stop = "! command -v gitcp-hook >/dev/null 2>&1 || exec gitcp-hook claude-code Stop"
    assert stop in commands(repo / ".claude/settings.json")
    assert not (repo / ".claude/settings.local.json").exists()
    assert git("status", "--porcelain") == "?? .claude/\n"


def test_own_settings_are_written_for_all_repositories(repo: Path, tmp_path: Path) -> None:
    enable.run(["--user"])
    assert any("claude-code Stop" in c for c in commands(tmp_path / "home/.claude/settings.json"))
    assert not (repo / ".claude").exists() and ours(repo / ".git/hooks") == HOOKS


def test_what_is_ignored_already_needs_no_exclude_line(repo: Path) -> None:
    write(repo / ".gitignore", ".claude/\n", 0o644)
    enable.run([])
    assert not (repo / ".git/info/exclude").exists()


def test_tracked_settings_are_written_only_for_all(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repo / ".gemini/settings.json", "{}\n", 0o644)
    git("add", ".gemini")
    enable.run(["--agent=gemini-cli"])
    assert (repo / ".gemini/settings.json").read_text() == "{}\n"
    said = capsys.readouterr().out
    assert "is tracked and was left as it is: --shared writes it for all who clone," in said
    assert "--user writes your own settings" in said
    enable.run(["--agent=gemini-cli", "--shared"])
    assert any("gitcp-hook gemini-cli" in c for c in commands(repo / ".gemini/settings.json"))


def test_an_unborn_repository_can_be_enabled(tmp_path: Path) -> None:
    git("init", "-q", str(tmp_path / "new"))
    os.chdir(tmp_path / "new")
    assert enable.run([]) == 0 and ours(tmp_path / "new/.git/hooks") == HOOKS


@pytest.mark.parametrize(("where", "why"), [("", "not a git rep"), ("b.git", "has no work tree")])
def test_without_a_worktree_one_line_says_so(tmp_path: Path, where: str, why: str) -> None:
    git("init", "-q", "--bare", str(tmp_path / "b.git"))
    os.chdir(tmp_path / where)
    with pytest.raises(Error, match=why):
        enable.run([])


@pytest.mark.parametrize("argv", [["--agent=x"], ["--shared", "--user"], ["--strategy=x"], ["y"]])
def test_misuse_is_refused(repo: Path, argv: list[str]) -> None:
    with pytest.raises(UsageError):
        enable.run(argv)
    assert not (repo / ".git/gitcp").exists()


def test_the_guards_mode_is_kept_in_gits_configuration(repo: Path) -> None:
    for mode in ("deny", "off"):
        enable.run([f"--guard={mode}"])
        assert git("config", "--local", "gitcp.guard") == f"{mode}\n"
    enable.run([])
    assert git("config", "--local", "gitcp.guard") == "off\n"
    with pytest.raises(UsageError):
        enable.run(["--guard=sometimes"])


def test_the_strategy_is_kept_in_gits_configuration(repo: Path) -> None:
    enable.run(["--strategy=auto-commit"])
    assert git("config", "--local", "gitcp.strategy") == "auto-commit\n"


@pytest.mark.parametrize("force", [False, True])
def test_settings_that_lead_outside_the_repository_are_written_only_by_force(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], force: bool
) -> None:
    (tmp_path / "everybody").mkdir()
    (repo / ".claude").symlink_to(tmp_path / "everybody")
    assert enable.run(["--force"] if force else []) == 0
    assert (tmp_path / "everybody" / "settings.local.json").exists() is force
    assert ("lies outside the repository" in capsys.readouterr().out) is not force


def test_the_agents_that_are_known_are_listed_with_the_place_of_their_hooks(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(repo)
    assert enable.run(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["claude-code", ".claude/settings.local.json"] in map(str.split, lines)
    unseen = [
        line.split()[0] for line in lines if line.endswith("(never tried with the real client)")
    ]
    assert unseen == [name for name in agents.list_names() if agents.get_client(name).UNTRIED]
    assert "cursor" in unseen and "claude-code" not in unseen
    assert snapshot(repo) == before


def test_without_a_name_every_agent_that_is_here_is_set_up(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, programs = tmp_path / "a-home", tmp_path / "programs"
    for folder in (home / ".claude", home / ".copilot", repo / ".codex", programs):
        folder.mkdir(parents=True)
    write(programs / "qwen", "#!/bin/sh\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    enable.run([])
    out = capsys.readouterr().out
    found = re.sub(r" [\d.]+(?=,|$)", "", out.splitlines()[0])  # versions, if they are here
    assert found == "found Claude Code, Codex, Copilot CLI, Qwen Code"
    assert "Copilot CLI runs the hooks of Claude Code" in out
    for path in (".claude/settings.local.json", ".codex/hooks.json", ".qwen/settings.json"):
        assert (repo / path).exists()
    for path in (".github/hooks/gitcp.json", ".gemini", ".cursor", ".clinerules"):
        assert not (repo / path).exists()
    assert git("status", "--porcelain", cwd=repo) == ""


@pytest.mark.parametrize(
    ("place", "package", "version"),
    [
        ("lib/node_modules/@openai/codex/bin/codex.js", '{"version": "0.63.1"}', ""),
        ("lib/node_modules/x/bin/c.js", '{"version": "0.63.1", "bin": {"codex": "b"}}', "0.63.1"),
        ("lib/node_modules/x/bin/c.js", '{"version": "1; rm", "bin": {"codex": "b"}}', ""),
        ("lib/node_modules/x/bin/c.js", '{"version": 7, "bin": {"codex": "b"}}', ""),
        ("lib/node_modules/x/bin/c.js", '{"version": "7.0.1", "bin": ["codex"]}', ""),
        ("lib/node_modules/x/bin/c.js", "{", ""),
        ("share/codex/versions/2.0.14-beta.1", "", "2.0.14-beta.1"),
        ("Cellar/codex/0.30.0/bin/codex", "", "0.30.0"),
        (".pyenv/versions/3.11.7/bin/codex", "", ""),
    ],
)
def test_a_version_is_read_from_where_a_program_lies_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, package: str, version: str
) -> None:
    program = tmp_path / place
    program.parent.mkdir(parents=True)
    write(program, f"#!/bin/sh\n: >{tmp_path}/started\n")
    if package:
        (program.parent.parent / "package.json").write_text(package)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/codex").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert enabling.find_version("codex") == version
    assert not (tmp_path / "started").exists()


_NAMING: list[tuple[str, str, Rows, list[str]]] = [
    ("enable", "--agent", enable.OPTIONS, []),
    ("disable", "--agent", disable.OPTIONS, []),
    ("attach", "--agent", attach.OPTIONS, ["a-session"]),
    ("import", "--agent", importlib.import_module("gitcp.cmd.share.import").OPTIONS, []),
    ("resume", "--with", resume.OPTIONS, []),
]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("claude", "claude-code"),
        ("Claude Code", "claude-code"),
        ("CLAUDE-CODE", "claude-code"),
        ("Gemini", "gemini-cli"),
        ("copilot", "copilot"),
        ("agy", "antigravity"),
        ("qw", "qwen-code"),
    ],
)
def test_an_agent_is_named_as_people_name_it(repo: Path, word: str, name: str) -> None:
    for command, option, options, more in _NAMING:
        args = cli.parse(command, options, [option, word, *more])
        assert getattr(args, option.strip("-")) in (name, [name])


@pytest.mark.parametrize("word", ["c", "", "nobody"])
def test_a_word_that_names_no_agent_alone_is_refused(repo: Path, word: str) -> None:
    with pytest.raises(UsageError, match="unknown agent"):
        enable.run(["--agent", word])
    assert ours(repo / ".git/hooks") == []


def test_where_no_agent_is_found_claude_code_is_set_up(
    repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    enable.run([])
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("no agent was found here: Claude Code is set up, 'gitcp enable --list'")
    assert second == "recording Claude Code here from now on"
    assert "start Claude Code here once, then 'gitcp status'" in (last, *_)
    assert (repo / ".claude" / "settings.local.json").exists()


def test_its_records_name_each_file_before_and_after(repo: Path) -> None:
    asked = ("--agent=claude-code", "--json")
    would, did = (
        [json.loads(line) for line in run("enable", *more, *asked, cwd=repo).stdout.splitlines()]
        for more in (["-n"], [])
    )
    assert [(r["path"], r["kind"]) for r in would] == [(r["path"], r["kind"]) for r in did]
    assert {r["done"] for r in would} == {False} and {r["done"] for r in did} == {True}
    assert all(Path(r["path"]).is_file() for r in did)
    assert {r["agent"] for r in did if r["kind"] == "settings"} == {"claude-code"}
    assert run("enable", *asked, cwd=repo).stdout == ""
    assert run("enable", "--list", "--json", cwd=repo).returncode == 129


_LEFTHOOK = '#!/bin/sh\ncall_lefthook()\n{\n  lefthook "$@"\n}\ncall_lefthook run "pre-push" "$@"\n'
_LFS = '#!/bin/sh\ncommand -v git-lfs >/dev/null || exit 2\ngit lfs pre-push "$@"\n'


@pytest.mark.parametrize(
    ("hook", "text", "said"),
    [
        (
            "post-commit",
            "#!/bin/sh\necho mine\n",
            "; the hooks that were here still run: post-commit\n",
        ),
        ("pre-push", _LEFTHOOK, "; the hooks that were here still run: pre-push (lefthook)\n"),
        ("pre-push", _LFS, "; the hooks that were here still run: pre-push (Git LFS)\n"),
        (
            "commit-msg",
            "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
            "; pre-commit calls commit-msg\n",
        ),
    ],
)
def test_who_wrote_another_hook_is_said(
    repo: Path, hook: str, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repo / ".git/hooks" / hook, text)
    enable.run(["--agent=claude-code"])
    assert said in capsys.readouterr().out
