"""log: commits, and who was behind them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints import notes
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from tests.support.checkpoints import git
from tests.support.paths import BIN
from tests.support.story import ALPHA, Story
from tests.support.warm import run


def logged(*argv: str) -> list[dict[str, Any]]:
    done = run("log", "--json", *argv)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_commit_has_its_sessions_below_it(story: Story) -> None:
    lines = run("log").stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(story.linked[:8]))
    assert lines[at] == f"{story.linked[:8]}  1 Apr 05   A U Thor      commit hello.txt"
    assert lines[at + 1] == f"  {shorten_id(ALPHA)}           Claude Code   > Please add hello"
    assert not lines[at + 2].startswith(" ")


def test_the_commits_are_those_of_git_log(story: Story) -> None:
    assert [r["oid"] for r in logged()] == git("log", "--format=%H").splitlines()
    assert [r["oid"] for r in logged("HEAD~1", "^HEAD~2")] == [story.linked]
    assert [r["oid"] for r in logged("-n", "1")] == [story.plain]


CHOICES = [
    ["-2"],
    ["-n", "1", "--grep", "hello"],
    ["--author=Thor", "--since", "2005-03-01", "--until=2005-05-01"],
    ["--author", "nobody"],
    ["--after=2038-01-01"],
    ["--before", "2000-01-01"],
]


@pytest.mark.parametrize("words", CHOICES, ids=" ".join)
def test_options_choose_the_commits_that_git_log_chooses(story: Story, words: list[str]) -> None:
    assert [r["oid"] for r in logged(*words)] == git("log", "--format=%H", *words).splitlines()


def test_one_line_a_commit_has_the_sessions_behind_it(story: Story) -> None:
    lines = run("log", "--oneline").stdout.splitlines()
    assert f"{story.linked[:8]}  1 Apr 05   A U Thor      commit hello.txt  (1)" in lines
    assert f"{story.plain[:8]}  1 Apr 05   A U Thor      commit own.txt" in lines
    assert len(lines) == len(git("log", "--format=%H").splitlines())
    drawn = run("log", "--oneline", "--graph").stdout
    assert story.linked[:8] in drawn and "Please add hello" not in drawn


@pytest.mark.parametrize("words", [["-p"], ["--stat"], ["--stat", "-p", "--", "hello.txt"]])
def test_the_changes_of_a_commit_are_those_of_git_log(story: Story, words: list[str]) -> None:
    told = run("log", "--oneline", *words).stdout
    plain = re.sub(r"(?m)^([0-9a-f]{8})[0-9a-f]{32} ", r"\1 ", git("log", "--format=%H %s", *words))
    kept = [line for line in plain.splitlines() if line not in ("", "---")]
    head = r"^(\w{8})  1 Apr 05   A U Thor      (.*?)(  \(1\))?$"
    mine = [re.sub(head, r"\1 \2", line) for line in told.splitlines() if line]
    assert mine == kept
    below = run("log", *words).stdout.splitlines()
    at = next(n for n, line in enumerate(below) if line.endswith("> Please add hello"))
    assert below[at + 1] == ""


def test_changes_are_not_drawn_into_a_graph_or_records(story: Story) -> None:
    for word in ("--graph", "--json"):
        done = run("log", "-p", word)
        assert done.returncode == 129 and "--stat and -p cannot be used with" in done.stderr


def test_the_graph_has_a_lane_a_session_its_prompts_and_lines_by_author(story: Story) -> None:
    plain, linked = story.plain[:8], story.linked[:8]
    lines = run("log", "--graph").stdout.splitlines()
    assert lines[:3] == [
        f"  * {plain} commit own.txt",
        f"+ * {linked} commit hello.txt  ####################  {shorten_id(ALPHA)} 2",
        f"o | {shorten_id(ALPHA)}  Please add hello",
    ]
    assert [line[:4] for line in lines[3:-3]] == ["  * "] * 2
    assert [line[:7] for line in lines[-3:]] == ["", "lanes: ", "lines: "]
    assert run("log", "--graph", "-n", "1").stdout == f"* {plain} commit own.txt\n"


def test_the_lanes_of_a_graph_are_not_broken_by_a_narrow_terminal(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = [sys.executable, str(BIN / "gitcp-log"), "--graph"]
    for name, value in {"COLUMNS": "30", "GIT_PAGER": "cat", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    master, slave = pty.openpty()
    subprocess.run(argv, stdout=slave, check=True)
    lines = os.read(master, 65536).decode().split("\r\n")
    assert max(map(len, lines)) == 30 and any("* " in line for line in lines)


def test_the_graph_is_the_one_that_git_draws(repo: Path) -> None:
    for n, words in enumerate(("switch -c side HEAD~1", "commit --allow-empty -m on-the-side")):
        git(*words.split(), *(["-q"] if n else []))
    git("switch", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "both", "side")
    drawn = run("log", "--graph").stdout
    assert drawn == git("log", "--graph", "--format=%h %s", "--abbrev=8") + "\n"


def test_colours_follow_gits_settings_and_a_pipe_is_plain(story: Story) -> None:
    git("config", "color.ui", "always")
    try:
        coloured = run("log", "--graph").stdout
    finally:
        git("config", "--unset", "color.ui")
    plain = run("log", "--graph").stdout
    assert "\x1b[32m+ \x1b[0m" in coloured and "\x1b" not in plain
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_all_means_the_persons_branches_and_not_ours(story: Story) -> None:
    assert {r["oid"] for r in logged("--all")} == set(git("rev-list", "main", "side").splitlines())


def test_json_says_how_a_commit_is_linked_and_what_each_session_did(story: Story) -> None:
    (found,) = [r for r in logged() if r["oid"] == story.linked]
    assert (found["type"], found["author"], found["message"]) == (
        "commit",
        "A U Thor",
        "commit hello.txt",
    )
    (told,) = found["checkpoints"]
    assert (told["checkpoint_id"], told["linked"]) == (story.checkpoint, "trailer")
    assert told["sessions"] == [ALPHA]
    (part,) = told["contents"]
    assert part["agent"] == "Claude Code" and part["asked"] == ["Please add hello"]
    assert list(part["files"]) == ["hello.txt"]
    assert part["token_usage_delta"]["output_tokens"] > 0


def test_a_commit_linked_by_a_note_is_found_and_one_that_is_not_here_is_named(repo: Path) -> None:
    at = Repo.find_here()
    with Objects(at):
        notes.add_link(at, git("rev-parse", "HEAD~1"), "0123456789ab")
    newest, noted = logged()
    assert newest["checkpoints"] == []
    told = {"checkpoint_id": "0123456789ab", "linked": "note", "missing": True}
    assert noted["checkpoints"] == [told]
    assert "a session is not here: 'gitcp fetch' may bring it" in run("log").stdout


def test_only_the_last_trailer_block_counts(repo: Path) -> None:
    body = "Entire-Checkpoint: aaaaaaaaaaaa\n\nmore text"
    git("commit", "-q", "--allow-empty", "-m", f"subject\n\n{body}")
    assert logged("-n1")[0]["checkpoints"] == []


@pytest.mark.parametrize("command", ["log", "status", "list-streams", "list-sessions"])
def test_the_number_of_git_processes_does_not_grow(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    file = tmp_path / "trace"
    monkeypatch.setenv("GITCP_TRACE", str(file))
    assert run(command).returncode == 0
    processes = [line for line in file.read_text().splitlines() if " ms)" in line]
    assert len(processes) <= 8, processes


@pytest.mark.parametrize("argv", [["nope"], ["-n", "0"], ["-n", "x"], ["--output=x"]])
def test_bad_arguments_are_named_in_one_line(repo: Path, argv: list[str]) -> None:
    done = run("log", *argv)
    assert done.returncode in (128, 129) and done.stdout == ""
    assert argv[-1].partition("=")[0] in done.stderr
    assert not Path("x").exists()


def test_a_repository_without_a_commit_says_so(repo: Path, tmp_path: Path) -> None:
    git("init", "-q", "-b", "new", "--template=", str(tmp_path / "at"))
    done = run("log", cwd=tmp_path / "at")
    assert done.returncode == 128
    assert "does not have any commits yet" in done.stderr
    for command in ("show", "resume", "explain"):
        done = run(command, *(["HEAD"] if command == "explain" else []), cwd=tmp_path / "at")
        assert (done.returncode, done.stderr) == (128, "fatal: there is no commit yet\n")


def test_paths_limit_a_bare_repository_too(story: Story, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    want = git("log", "--format=%H", "--", "hello.txt").splitlines()
    done = run("log", "--json", "--", "hello.txt", cwd=tmp_path / "bare")
    assert [json.loads(line)["oid"] for line in done.stdout.splitlines()] == want, done.stderr
    assert 0 < len(want) < len(git("log", "--format=%H").splitlines())


def test_commits_are_abbreviated_as_git_abbreviates_them(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.abbrev")
    for digits in ("10", "no"):
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", digits)
        short = story.world.git("log", "-1", "--format=%h", story.linked)
        assert len(short) == (10 if digits == "10" else 40)
        for command in ("log", "show", "log --oneline", "log --graph"):
            name, *words = command.split()
            words += [story.linked] if name == "show" else []
            told = story.world.gitcp(name, *words)
            assert re.search(rf"\b{short}\b", told), command
