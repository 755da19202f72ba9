"""What shells complete: commands, options, and what the repository has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitcp.cmd.setup import completion
from gitcp.commands import flatten_rows, make_flag, make_value
from gitcp.terminal.completion import STARTS, format_script, list_candidates, split_words
from tests.support.harness import Agent, World
from tests.support.paths import BIN, TOP
from tests.support.terminal import talk

SEARCH_PATH = f"{BIN}:{os.environ['PATH']}"
ROWS = (
    make_flag("-a --all", "all of it"),
    [
        make_value("--agent", "<name>", "an agent"),
        make_value("--how", "<how>", "how", choices=["x", "y"]),
        make_value("--kind", "<name>", "what", choices=["x", "y"]),
    ],
    make_value("name", "<name>", "a session"),
    make_value("path", "<path>", "files", nargs="*"),
)
BASH = """
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_gitcp
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
autoload -Uz compinit && compinit -D
_describe() { print -l -- ${lines%%:*}; }
_files() { print files; }
words=("${@[2,-1]}")
CURRENT=$#words
source "$1"
_gitcp
"""


@pytest.mark.parametrize(
    ("words", "kind", "offered"),
    [
        ([""], "recorded", []),
        (["-"], "", ["-a", "--all", "--agent", "--how", "--kind"]),
        (["--agent", ""], "agent", []),
        (["--how", "x"], "", ["x", "y"]),
        (["--how", "x", ""], "recorded", []),
        (["--kind", "x"], "", ["x", "y"]),
        (["-a", "s1", ""], "", []),
        (["--", "-a"], "recorded", []),
    ],
)
def test_what_may_follow_is_told_by_the_rows(
    words: list[str], kind: str, offered: list[str]
) -> None:
    found, wanted = list_candidates(flatten_rows(ROWS), words)
    assert (wanted, [*found]) == (kind, offered)


def test_words_are_meant_as_a_person_types_them() -> None:
    assert split_words(["/usr/bin/gitcp-log", "--js"]) == ["log", "--js"]
    assert split_words(["gitcp", "enable", "--agent", "=", "c"]) == ["enable", "--agent", "c"]
    assert split_words(["gitcp", "enable", "--agent", "="]) == ["enable", "--agent", ""]
    assert split_words(["gitcp", "enable", "--agent=c"]) == ["enable", "--agent", "c"]


def candidates(world: World, *words: str) -> list[str]:
    """What `gitcp completion --words` lists, without what each is."""
    argv = [str(BIN / "gitcp-completion"), "--words", "--", *words]
    done = subprocess.run(
        argv, cwd=world.path, env={**os.environ, **world.env}, text=True, stdout=-1
    )
    assert done.returncode == (0 if done.stdout else 1)
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def test_candidates_are_what_the_repository_has(world: World, a: Agent) -> None:
    a.turn("add one", {"one.py": "1\n"})
    world.commit("one.py")
    [checkpoint] = world.ids("HEAD")
    assert candidates(world, "gitcp", "show", a.sid[:3]) == [a.sid]
    assert candidates(world, "gitcp-show", checkpoint[:4]) == [checkpoint]
    a.turn("add two", {"two.py": "2\n"})
    points = candidates(world, "gitcp", "rewind", "--to", "")
    assert world.git("rev-parse", f"refs/heads/{world.branch()}") in points
    assert "main" in candidates(world, "gitcp", "stats", "")
    assert candidates(world, "gitcp", "config", "gitcp.guard-") == ["gitcp.guard-wait"]
    assert candidates(world, "gitcp", "enable", "--agent", "cod") == ["codex"]
    assert candidates(world, "gitcp", "blame", "") == []
    strategies = ["manual-commit", "auto-commit", "shadow", "dual"]
    assert candidates(world, "gitcp", "enable", "--strategy", "") == strategies


@pytest.mark.parametrize(("shell", "run"), [("bash", BASH), ("zsh", ZSH)])
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("gitcp statu", "status"),
        ("gitcp-log --js", "--json"),
        ("gitcp help doct", "doctor"),
        ("gitcp enable --agent cod", "codex"),
    ],
)
def test_a_shell_offers_the_candidates(
    shell: str, run: str, words: str, found: str, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(format_script(shell, ["log"]))
    argv = [shell, *(["-f"] if shell == "zsh" else []), "-c", run, shell]
    env = {**os.environ, "PATH": SEARCH_PATH, "HOME": str(tmp_path)}
    argv += [str(tmp_path / "script"), *words.split()]
    assert subprocess.check_output(argv, text=True, env=env, cwd=TOP) == f"{found}\n"


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("zsh", "print $_comps[gitcp] $_comps[gitcp-log]"),
        ("bash", "complete -p gitcp gitcp-log | grep -o _gitcp"),
    ],
)
def test_one_line_at_its_start_makes_a_shell_complete(
    shell: str, asked: str, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    argv = [shell, *(["-f"] if shell == "zsh" else []), "-c", f"{STARTS[shell][0]}; {asked}"]
    env = {**os.environ, "PATH": SEARCH_PATH, "HOME": str(tmp_path)}
    assert subprocess.check_output(argv, text=True, env=env, cwd=TOP).split() == ["_gitcp"] * 2


def test_zsh_finds_it_among_the_functions_of_an_installation(tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "_gitcp").write_text(format_script("zsh", ["log"]))
    run = (
        f"fpath=({tmp_path} $fpath); autoload -Uz compinit && compinit -D; print $_comps[gitcp-log]"
    )
    run += (
        "; _describe() { print -l -- ${lines%%:*} }; words=(gitcp statu); CURRENT=2; _gitcp; _gitcp"
    )
    env = {**os.environ, "PATH": SEARCH_PATH, "HOME": str(tmp_path)}
    out = subprocess.check_output(["zsh", "-f", "-c", run], text=True, env=env, cwd=TOP)
    assert out.split() == ["_gitcp", "status", "status"]


def test_fish_offers_the_candidates(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "script").write_text(completion.format_script("fish"))
    env = {**os.environ, "PATH": SEARCH_PATH, "HOME": str(tmp_path)}
    asked = f"source {tmp_path}/script; complete -C 'gitcp-log --js'; complete -C 'gitcp statu'"
    found = subprocess.check_output(
        ["fish", "--no-config", "-c", asked], text=True, env=env, cwd=TOP
    )
    assert [line.partition("\t")[0] for line in found.splitlines()] == ["--json", "status"]


def test_enable_names_at_a_terminal_what_makes_the_persons_shell_complete(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    (tmp_path / "home").mkdir(exist_ok=True)
    world = World(repo, tmp_path / "home")
    enable = ["enable", "--agent=claude-code", "--checkpoints=none"]
    seen = " ".join(talk(world, enable).split())
    assert "'source <(gitcp completion zsh)' in ~/.zshrc completes commands" in seen
    assert "completes" not in talk(world, enable), "nothing was written the second time"
