"""What a person who knows git expects: -C, paths, pagers, colours, and names that are meant."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import Agent, World
from tests.support.installed import git
from tests.support.paths import TOP

GITCP = [sys.executable, str(TOP / "bin/gitcp")]


def run(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GITCP, *args], cwd=cwd, capture_output=True, text=True)


def at_terminal(*args: str, **env: str) -> str:
    """What a command writes to a terminal."""
    own, theirs = pty.openpty()
    given = {k: v for k, v in os.environ.items() if k not in ("PAGER", "GIT_PAGER")}
    given = {"TERM": "xterm", **given, **env}
    with subprocess.Popen([*GITCP, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=given):
        os.close(theirs)
        text = b""
        try:
            while data := os.read(own, 4096):
                text += data
        except OSError:
            pass  # the last one let go of the terminal
    os.close(own)
    return text.decode()


def test_minus_c_goes_to_another_directory_first(repo: Path, tmp_path: Path) -> None:
    done = run("-C", str(repo), "-C", "src", "log", "-1", cwd=tmp_path)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    bad = run("-C", "nowhere", "log", cwd=tmp_path)
    assert (bad.returncode, bad.stderr[:24]) == (128, "fatal: cannot change to ")


def test_a_wrong_word_is_told_in_one_line_whatever_it_is(repo: Path) -> None:
    for words, told in (
        (["rewind", "a\nb"], "fatal: "),
        (["show", "a\n\nb"], "fatal: "),
        (["doctor", "a\nb"], "error: unknown argument: 'a b'"),
        (["doctor", ""], "error: unknown argument: ''"),
        (["why", "--", "--"], "fatal: no such path '--' in HEAD"),
    ):
        first, *rest = run(*words).stderr.splitlines()
        assert first.startswith(told) and "did you mean" not in first
        assert all(line.startswith(("usage: ", "  ")) for line in rest)


@pytest.mark.parametrize(
    ("args", "subjects"),
    [
        (["-1"], ["add lib"]),
        (["--", "src/app.py"], ["initial"]),
        (["src/lib.py"], ["add lib"]),
        (["HEAD", "--", "README.md", "src/lib.py"], ["add lib", "initial"]),
        (["HEAD~1", "src"], ["initial"]),
    ],
)
def test_log_takes_numbers_and_paths_as_git_log_does(
    repo: Path, args: list[str], subjects: list[str]
) -> None:
    done = run("log", *args)
    assert [line.rsplit("  ", 1)[1] for line in done.stdout.splitlines()] == subjects
    inside = [a.replace("src/", "").replace("README", "../README") for a in args]
    if "src" not in args:
        assert run("log", *inside, cwd=repo / "src").stdout == done.stdout


def test_a_name_that_is_branch_and_path_is_the_branch(repo: Path) -> None:
    git("branch", "src", "HEAD~1")
    assert len(run("log", "src").stdout.splitlines()) == 1
    assert len(run("log", "--", "src").stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("key", "value"), [("core.pager", "sed s/^/P:/"), ("pager.log", "sed s/^/P:/")]
)
def test_the_configured_pager_is_used(repo: Path, key: str, value: str) -> None:
    git("config", key, value)
    assert at_terminal("log").startswith("P:")
    git("config", "pager.log", "false")
    assert not at_terminal("log").startswith("P:")


def test_records_at_a_narrow_terminal_are_whole_and_show_every_script_but_no_controls(
    world: World,
) -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    world.agent("s1").prompt(f"日本 {family} שלום \u202egnp.\u2069 \x1b[31m" + "x" * 80)
    shown = at_terminal("-C", str(world.path), "list-sessions", COLUMNS="40")
    (line,) = shown.splitlines()
    assert f"日本 {family} שלום " in line
    assert not {"\u202e", "\u2069", "\x1b"} & set(line)
    assert (
        json.loads(line)["first_prompt"] == json.loads(world.gitcp("list-sessions"))["first_prompt"]
    )


def test_git_pager_wins_over_configuration(repo: Path) -> None:
    git("config", "core.pager", "sed s/^/P:/")
    assert at_terminal("log", GIT_PAGER="sed s/^/Q:/").startswith("Q:")


def test_colours_are_as_git_is_told(repo: Path) -> None:
    git("config", "core.pager", "cat")
    assert "\x1b[" in at_terminal("log")
    assert "\x1b[" not in at_terminal("log", NO_COLOR="1")
    assert "\x1b[" not in at_terminal("log", TERM="dumb")
    git("config", "color.ui", "never")
    assert "\x1b[" not in at_terminal("log")
    git("config", "color.ui", "always")
    assert "\x1b[" in run("log").stdout


def test_a_command_or_option_that_is_misspelt_is_told_what_was_meant(repo: Path) -> None:
    done = run("sttus")
    assert done.returncode == 129 and "did you mean 'status'" in done.stderr
    assert "did you mean" not in run("xyzzy").stderr
    assert "did you mean 'log'" in run("help", "lgo").stderr
    assert (
        "unknown argument: '--onelin'; did you mean '--oneline'?" in run("log", "--onelin").stderr
    )
    assert run("status", "x").stderr.startswith("error: unknown argument: 'x'\nusage: ")
    assert "did you mean" not in run("log", "--repos", "x").stderr
    assert "; did you mean '-n'?" in run("search", "--limit", "3", "x").stderr
    assert len(run("recap", "--nope").stderr.splitlines()) == 3


@pytest.mark.parametrize("name", ["push", "fetch", "fsck"])
def test_help_names_the_program_that_was_called(repo: Path, name: str) -> None:
    program = [sys.executable, str(TOP / f"bin/gitcp-{name}"), "-h"]
    assert run(name, "-h").stdout.startswith(f"usage: gitcp-{name} ")
    assert subprocess.check_output(program, text=True).startswith(f"usage: gitcp-{name} ")


def test_git_runs_what_is_asked_most(world: World, a: Agent) -> None:
    a.turn("write one", {"one.py": "1\n"})
    world.commit("one.py")
    env = {**os.environ, **world.env, "PATH": f"{TOP}/bin:{os.environ['PATH']}"}

    def git(*words: str) -> str:
        argv = ["git", "-C", str(world.path), *words]
        return subprocess.check_output(argv, env=env, text=True, cwd="/")

    assert "write one" in git("why", "one.py:1")
    assert git("rewind", "--list") == git("-c", "alias.points=rewind", "points", "--list")
    assert git("why", "-h").startswith("usage: gitcp-why ")


def test_help_may_be_cut_short(repo: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" | head -n 1', "sh", *GITCP, "help"], capture_output=True, text=True
    )
    assert done.stdout.startswith("usage: gitcp") and done.stderr == ""


def test_help_of_a_command_opens_its_page(repo: Path, tmp_path: Path) -> None:
    man = tmp_path / "bin" / "man"
    man.parent.mkdir()
    man.write_text('#!/bin/sh\necho "man $*"\n')
    man.chmod(0o755)
    env = {**os.environ, "PATH": f"{man.parent}:{os.environ['PATH']}"}
    out = subprocess.check_output([*GITCP, "help", "log"], env=env, text=True)
    assert out == f"man {TOP}/man/gitcp-log.1\n"


def test_help_shows_a_page_where_there_is_no_man(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(str(shutil.which("git")))
    env = {**os.environ, "PATH": str(tmp_path / "bin")}

    def ask(name: str) -> str:
        argv = [sys.executable, *GITCP[-1:], "help", name]
        return subprocess.check_output(argv, env=env, text=True)

    assert ask("log").startswith("GITCP-LOG(1)\n\nNAME\n     gitcp-log - show commits")
    assert ask("tutorial").startswith("GITCP-TUTORIAL(7)\n")
    assert ask("gitcp").startswith("GITCP(7)\n")


def test_an_id_that_nobody_knows_is_fatal(repo: Path) -> None:
    program = [sys.executable, str(TOP / "bin/gitcp-find-commits"), "0123456789ab"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 128 and "0123456789ab" in done.stderr


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["gti"], "'gti' is not a gitcp command; did you mean 'git'?"),
        (["git", "log"], "'git' is not a gitcp command; see 'gitcp help -a'"),
        (["log", "--grahp"], "unknown argument: '--grahp'; did you mean '--graph' or '--grep'?"),
        (["log", "--nope"], "unknown argument: '--nope'"),
        (["stats", "--repos", "x"], "unknown argument: '--repos'"),
        (["search", "--limit", "3", "x"], "unknown argument: '--limit'; did you mean '-n'?"),
        (["search", "--limit=3", "x"], "unknown argument: '--limit=3'; did you mean '-n'?"),
        (["rewind", "--max-count"], "unknown argument: '--max-count'"),
    ],
)
def test_an_error_is_a_line_that_suggests_what_is_near_and_at_most_two_of_usage(
    repo: Path, argv: list[str], told: str
) -> None:
    first, *usage = run(*argv).stderr.splitlines()
    assert first == f"error: {told}"
    assert len(usage) <= 2 and all(len(line) <= 80 for line in usage), usage
