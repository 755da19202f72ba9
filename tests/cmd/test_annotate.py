"""annotate: a patch as git printed it, with the author before each line that it adds."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from gitcp.text.short_ids import shorten_id
from tests.support.harness import World
from tests.support.paths import BIN

SESSION = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"
GREET = 'def greet(name):\n    return f"hello, {name}"\n'
FAREWELL = '\n\ndef farewell(name):\n    return f"good bye, {name}"\n'
CODES = re.compile(r"\x1b\[[0-9;]*m")
BLANK = " " * 13
FIRST, SECOND = (f"{shorten_id(SESSION)} #{n}  " for n in (1, 2))
PERSON = "A U Thor     "


@pytest.fixture
def written(world: World) -> World:
    """The first prompt's lines and a person's are committed, the second prompt's are not."""
    world.git("config", "user.name", "A U Thor")
    agent = world.agent(SESSION, tools=True)
    agent.turn("Add a function that greets", {"greet.py": GREET})
    world.write("own.txt", "the person's own\n")
    world.commit()
    agent.turn("Say good bye too", {"greet.py": GREET + FAREWELL})
    return world


def annotate(world: World, patch: str, *options: str) -> str:
    return world.gitcp("annotate", *options, stdin=patch)


def marks(text: str) -> dict[str, str]:
    """The added lines of an annotated patch -> their marks."""
    found = re.findall(r"^(.{13})\+(?!\+\+ )(.*)$", CODES.sub("", text), re.M)
    return {line: mark for mark, line in found}


def without_marks(text: str, patch: str) -> str:
    """An annotated patch without its marks."""
    rows = zip(text.split("\n"), patch.split("\n"), strict=True)
    return "\n".join(row if row == own else row[13:] for row, own in rows)


def test_what_is_not_committed_has_its_prompt(written: World) -> None:
    patch = written.git("diff") + "\n"
    shown = annotate(written, patch)
    assert marks(shown) == dict.fromkeys(FAREWELL.splitlines(), SECOND)
    assert without_marks(shown, patch) == patch
    heads = [line for line in shown.split("\n") if not line.startswith((BLANK, SECOND))]
    assert [line.split(" ")[0] for line in heads] == ["diff", "index", "---", "+++", "@@", ""]


def test_a_patch_between_commits_that_are_not_checked_out(written: World) -> None:
    branch = written.git("symbolic-ref", "--short", "HEAD")
    written.git("checkout", "-q", "-f", "-b", "aside", "HEAD^")
    patch = written.git("diff", f"aside..{branch}") + "\n"
    found = marks(annotate(written, patch))
    assert found == {**dict.fromkeys(GREET.splitlines(), FIRST), "the person's own": PERSON}


def test_what_the_person_wrote_has_his_name(written: World) -> None:
    written.write("own.txt", "the person's own\nand more\n")
    assert marks(annotate(written, written.git("diff") + "\n"))["and more"] == PERSON


@pytest.mark.parametrize(
    "asked",
    [
        ("show",),
        ("log", "-p"),
        ("log", "-p", "--oneline"),
        ("log", "-p", "--format=%an wrote", "-2"),
        ("format-patch", "--stdout", "-1"),
        ("diff", "HEAD^", "HEAD"),
        ("diff", "HEAD", "-R"),
        ("-c", "diff.mnemonicPrefix=true", "diff", "HEAD^", "HEAD"),
        ("diff", "HEAD^", "HEAD", "--full-index", "--minimal", "-U0"),
    ],
)
def test_what_is_committed_has_the_prompt_and_the_person(
    written: World, asked: Sequence[str]
) -> None:
    if "-R" in asked:
        written.git("rm", "-q", "--cached", "greet.py", "own.txt")
    patch = written.git(*asked, "--cached") if "-R" in asked else written.git(*asked)
    shown = marks(annotate(written, patch + "\n"))
    assert [shown[line] for line in GREET.splitlines()] == [FIRST, FIRST]
    assert shown["the person's own"] == PERSON


def test_the_index_between_commit_and_worktree_is_known(written: World) -> None:
    written.git("add", "greet.py")
    written.write("greet.py", "print()\n")
    shown = marks(annotate(written, written.git("diff", "--cached") + "\n"))
    assert shown == dict.fromkeys(FAREWELL.splitlines(), SECOND)


def test_colours_of_git_stay_and_marks_have_them(written: World) -> None:
    patch = written.git("diff", "--color=always") + "\n"
    shown = annotate(written, patch)
    assert f"\x1b[32m{SECOND[:-1]}\x1b[0m \x1b[32m+" in shown
    assert CODES.sub("", shown) == annotate(written, CODES.sub("", patch))


@pytest.mark.parametrize(
    "asked",
    [
        ("diff", "--stat"),
        ("diff", "--no-prefix"),
        ("diff", "--word-diff"),
        ("diff", "--raw", "-z"),
        ("diff", "--output-indicator-new=>"),
        ("log", "--graph", "-p"),
        ("show", "--cc", "merged"),
        ("status",),
    ],
)
def test_in_doubt_a_patch_is_unchanged(written: World, asked: Sequence[str]) -> None:
    if "merged" in asked:
        written.git("stash", "-q")
        for branch, text in (("one", "1\n"), ("two", "2\n")):
            written.git("checkout", "-q", "-B", branch, "main")
            written.write("own.txt", text)
            written.git("commit", "-qam", branch)
        written.git("merge", "-q", "one", ok=False)
        written.write("own.txt", "3\n")
        written.git("commit", "-qam", "both")
        written.git("tag", "merged")
    patch = written.git(*asked) + "\n"
    assert annotate(written, patch) == patch


def test_a_foreign_patch_is_unchanged(written: World) -> None:
    patch = written.git("diff") + "\n"
    for foreign in (re.sub(r"^index .*\n", "", patch, flags=re.M), patch.replace("..", "..dead")):
        assert foreign != patch
        assert annotate(written, foreign) == foreign


def test_outside_of_a_repository_a_patch_is_unchanged(written: World) -> None:
    patch = written.git("diff") + "\n"
    run = [sys.executable, str(BIN / "gitcp"), "annotate"]
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(written.path.parent)}
    done = subprocess.run(
        run, cwd=written.path.parent, env=env, input=patch, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, patch, "")


def test_records_name_the_lines(written: World) -> None:
    shown = annotate(written, written.git("diff", "--color=always") + "\n", "--json")
    records = [json.loads(line) for line in shown.splitlines()]
    assert [r["content"] for r in records] == FAREWELL.splitlines()
    assert [r["line"] for r in records] == [3, 4, 5, 6]
    assert {(r["who"], r["session_id"], r["number"]) for r in records} == {("session", SESSION, 2)}


def at_terminal(world: World, *words: str, typed: bytes = b"") -> str:
    """What a command shows at a terminal.  typed: what the person answers."""
    pid, master = pty.fork()
    if not pid:
        os.chdir(world.path)
        env = {**os.environ, **world.env, "TERM": "xterm", "PATH": f"{BIN}:{os.environ['PATH']}"}
        os.execvpe(words[0], words, env)
    seen = b""
    os.write(master, typed)
    try:
        while data := os.read(master, 65536):
            seen += data
    except OSError:
        pass
    os.close(master)
    os.waitpid(pid, 0)
    return CODES.sub("", seen.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("key", ["core.pager", "pager.diff"])
def test_it_stands_in_gits_pager(written: World, key: str) -> None:
    written.git("config", key, "gitcp annotate | cat")
    assert marks(at_terminal(written, "git", "diff")) == dict.fromkeys(
        FAREWELL.splitlines(), SECOND
    )


@pytest.mark.parametrize("pager", ["cat -u", "gitcp annotate | cat -u"])
@pytest.mark.parametrize("asked", [("diff", "HEAD"), ("log", "-p"), ("show", "-p")])
def test_commands_with_a_patch_show_it_once(
    written: World, asked: Sequence[str], pager: str
) -> None:
    written.git("config", "core.pager", pager)
    shown = marks(at_terminal(written, sys.executable, str(BIN / "gitcp"), *asked))
    text, mark = (FAREWELL, SECOND) if asked[0] == "diff" else (GREET, FIRST)
    assert [shown[line] for line in text.splitlines()] == [mark] * text.count("\n")


def test_git_add_asks_with_marks(written: World) -> None:
    written.git("config", "interactive.diffFilter", "gitcp annotate")
    shown = at_terminal(written, "git", "add", "-p", typed=b"y\n")
    assert marks(shown) == dict.fromkeys(FAREWELL.splitlines(), SECOND)
    assert "def farewell" in written.git("show", ":greet.py")
