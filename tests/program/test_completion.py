"""What shells complete: commands, options, and what the repository has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitcp.cmd import completion
from gitcp.console.options import flatten_rows, make_flag, make_value
from gitcp.core.render.completion import format_script, list_candidates, split_words
from tests.support.harness import Agent, World
from tests.support.paths import BIN, TOP

SEARCH_PATH = f"{BIN}:{os.environ['PATH']}"
ROWS = (
    make_flag("-a --all", "all of it"),
    [
        make_value("--agent", "<name>", "an agent"),
        make_value("--how", "<how>", "how", choices=["x", "y"]),
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
"""


@pytest.mark.parametrize(
    ("words", "kind", "offered"),
    [
        ([""], "recorded", []),
        (["-"], "", ["-a", "--all", "--agent", "--how"]),
        (["--agent", ""], "agent", []),
        (["--how", "x"], "", ["x", "y"]),
        (["--how", "x", ""], "recorded", []),
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
