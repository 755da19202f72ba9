"""blame: git's own output, byte for byte, but for the lines that sessions wrote."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.checkpoints import notes
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git
from tests.support.copies import plant
from tests.support.paths import BIN
from tests.support.sealed import environment

A, B = "a1b2c3d4e5f6", "0f1e2d3c4b5a"
SESSION = "1f0c5d6e-0000-4000-8000-000000000001"
NAME = f"Claude Code {shorten_id(SESSION)} #3"
# Every option of `git blame -h`, and what shapes its output otherwise.
OPTIONS = """ |-b|-b HEAD~2..|--root|--show-stats|--progress|--score-debug|--score-debug -n|-f|-n|-p
--score-debug --|--porcelain|--line-porcelain|--incremental|-c|-c -e -t|-t|-l|-s|-e|-w|-wen
--ignore-rev HEAD|--ignore-revs-file .ignored|--color-lines|--color-by-age|--minimal|-S .revs
--contents .contents|-C|-C -C|-M|-L 1,2|-L2,+1|--abbrev|--abbrev=5|--abbrev=40|--no-abbrev
--since=2005-04-06T00:00:00Z|--first-parent|--reverse HEAD~1|HEAD~1
--incremental --reverse HEAD~1|-l -b HEAD~1..
--date=relative|--date=short|--date=iso|--date=iso-strict|--date=rfc|--date=raw|--date=unix
--date=human|--date=default|--date=local|--date=iso-local|--date=format:%Y-%B|--date short
--encoding=latin1|--diff-algorithm=patience|-p --show-stats""".replace("\n", "|").split("|")
CONFIGURED = (
    "blame.showEmail true",
    "blame.showRoot true",
    "blame.blankBoundary true",
    "blame.date relative",
    "blame.coloring repeatedLines",
    "blame.coloring highlightRecent",
    "blame.ignoreRevsFile .ignored",
    "blame.markIgnoredLines true",
    "blame.markUnblamableLines true",
    "core.abbrev 12",
    "core.quotePath true",
)


def tool(name: str, *argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    if name == "git":
        return subprocess.run([name, *argv], cwd=cwd, capture_output=True)
    return warm.command(name, argv, cwd or Path.cwd(), os.environ)


def commit(message: str, when: int, author: str = "A U Thor") -> str:
    stamp = f"{1112700000 + when * 86400} +0200"
    env = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    subprocess.run(["git", "add", "-A"], check=True)
    made = ["git", "commit", "-q", "-m", message, f"--author={author} <a@example.com>"]
    subprocess.run(made, check=True, env=env)
    return git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def past(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of many commits, moved, edited, its authors' names of every width."""
    repo = Path(shutil.copytree(template, tmp_path_factory.mktemp("past") / "repo"))
    with environment() as patch:
        patch.chdir(repo)
        grow(repo)
    yield repo


@pytest.fixture
def history(past: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our copy of it, to stand in."""
    repo = plant(past, tmp_path / "repo")
    monkeypatch.chdir(repo)
    return repo


def grow(repo: Path) -> None:
    """Make the commits."""
    odd = repo / "ordner \u00fc"
    odd.mkdir()
    (odd / "a.txt").write_text("first line\nsecond line\nthird line\n    fourth line\n")
    commit("one", 1, "Z\u00fcrich \u65e5\u672c\u8a9e")
    git("mv", str(odd / "a.txt"), "a.txt")
    (repo / "a.txt").write_text("first line\n2nd line\nthird line\n        fourth line\nfifth\n")
    ignored = commit("two", 2, "Jos\u0065\u0301")
    (repo / "a.txt").write_text("zeroth\nfirst line\nsecond LINE\nthird line\nfourth line\nend")
    (repo / ".contents").write_text("zeroth\nfirst line\nsomething else\n")
    (repo / ".ignored").write_text(ignored + "\n")
    head = commit("three", 3)
    (repo / ".revs").write_text(f"{head} {ignored}\n{ignored}\n")


@pytest.mark.parametrize("form", ["--line-porcelain", "--porcelain", "--incremental"])
def test_lines_of_two_files_of_a_commit_have_the_headers_of_theirs(
    history: Path, form: str
) -> None:
    parts = [
        f"{name} has a line, number {n}, that is like no other\n" for name in "xy" for n in "12"
    ]
    (history / "x").write_text("".join(parts[:2]))
    (history / "y").write_text("".join(parts[2:]))
    commit("two files", 4)
    (history / "both").write_text("".join(parts))
    commit("one of both", 5)
    argv = "blame", form, "-C", "-C", "-C", "both"
    theirs, ours = tool("git", *argv), tool(*argv)
    assert {b"filename x", b"filename y"} <= {*theirs.stdout.split(b"\n")}
    assert ours.stdout == theirs.stdout


@pytest.mark.parametrize("options", OPTIONS)
def test_without_a_session_every_byte_is_gits(history: Path, options: str) -> None:
    argv = [*options.split(), "a.txt"]
    theirs, ours = tool("git", "blame", *argv), tool("blame", *argv)
    if options == "--progress":  # for the terminal, not for the output
        theirs = tool("git", "blame", "a.txt")
    assert theirs.returncode == 0
    assert (_timeless(ours.stdout), ours.returncode, ours.stderr) == (
        _timeless(theirs.stdout),
        0,
        theirs.stderr,
    )


def _timeless(blame: bytes) -> bytes:
    """Without the second at which what is not committed was looked at."""
    return re.sub(rb"(Not Committed Yet \S+ \d\d):\d\d:\d\d", rb"\1", blame)


@pytest.mark.parametrize("options", CONFIGURED)
def test_configuration_shapes_the_output_as_it_does_for_git(history: Path, options: str) -> None:
    git("config", *options.split())
    assert tool("blame", "a.txt").stdout == tool("git", "blame", "a.txt").stdout


@pytest.mark.parametrize("argv", ["a.txt", "-e a.txt", "HEAD -- a.txt", "a.txt HEAD~1"])
def test_the_person_may_stand_anywhere_and_have_changes(history: Path, argv: str) -> None:
    below = history / "src"
    (history / "src" / "b.txt").write_text("b\n")
    for name in argv.split():
        if name.endswith(".txt"):
            argv = argv.replace(name, f".././{name}")
    assert tool("blame", *argv.split(), cwd=below).stdout == (
        tool("git", "blame", *argv.split(), cwd=below).stdout
    )
    (history / "a.txt").write_text("not committed\nfirst line\n")
    for mode in ("short", "format:%Y", "format:%Y-%m-%d"):
        form = (f"--date={mode}", "a.txt")
        assert tool("blame", *form).stdout == tool("git", "blame", *form).stdout


def test_a_mistake_is_told_in_gits_words(history: Path) -> None:
    for argv, status in ((["nofile"], 128), (["--bogus", "a.txt"], 129), ([], 129)):
        done = tool("blame", *argv)
        assert (done.returncode, done.stdout) == (status, b""), argv
        assert done.stderr and b"Traceback" not in done.stderr
    assert b"usage: gitcp blame [<options>]" in tool("blame").stderr
    assert tool("blame", "nofile").stderr == tool("git", "blame", "nofile").stderr


def test_a_file_that_git_does_not_track_is_shown_without_authors(history: Path) -> None:
    (history / "new.txt").write_text("one\rtwo\nthree")
    assert tool("blame", "-s", "new.txt").stdout == b"00000000 1) one\rtwo\n00000000 2) three\n"


def test_a_file_outside_the_worktree_is_refused_in_gits_words(history: Path) -> None:
    outside = str(history.parent / "outside.txt")
    Path(outside).touch()
    assert tool("blame", outside).stderr == tool("git", "blame", outside).stderr


def authors(*argv: str) -> list[str]:
    """The author of each line, as the format for programs has it."""
    out = tool("blame", "--line-porcelain", *argv).stdout.decode()
    return [line[7:] for line in out.splitlines() if line.startswith("author ")]


def test_a_sessions_line_has_agent_session_and_prompt_for_its_author(history: Path) -> None:
    linked(A, SESSION, "a.txt", [[1, 1, "t1", "toolu_1"], [3, 3, "person", None]])
    mine, theirs = tool("blame", "a.txt"), tool("git", "blame", "a.txt")
    rows = mine.stdout.decode().splitlines()
    assert f"({NAME} 2005-04-08 " in rows[0] and rows[0].endswith(" 1) zeroth")
    assert "(A U Thor  " in rows[2] and "(Jose" in rows[3]
    wide = len(NAME)
    assert {row.index(" 2005-") for row in rows if row.isascii()} == {rows[0].index("(") + 1 + wide}
    assert len(theirs.stdout.splitlines()) == len(rows)


def test_a_line_of_a_file_with_a_newline_in_its_name_is_a_sessions_too(repo: Path) -> None:
    (repo / "a\nb").write_text("one\n")
    commit("odd", 1)
    linked(A, SESSION, "a\nb", [[1, 1, "t1", None]])
    assert authors("a\nb") == [NAME]


def test_a_line_nothing_is_known_of_is_marked_and_a_persons_keeps_its_author(
    history: Path,
) -> None:
    linked(A, SESSION, "a.txt", [[1, 1, "t1", None], [3, 3, "unknown", None]])
    before = authors("HEAD~1", "--", "a.txt")
    third = tool("git", "blame", "-L", "3,3", "--line-porcelain", "a.txt").stdout.split(b"\n")
    assert third[1] == b"author A U Thor"
    got = authors("a.txt")
    assert (got[0], got[2]) == (NAME, "?")
    assert got[1] in before and got[1] != "?"
    assert authors("--mark-unknown", "a.txt")[1] == "?"


def test_only_author_and_mail_differ_in_the_formats_for_programs(history: Path) -> None:
    linked(A, SESSION, "a.txt", [[1, 1, "t1", "toolu_1"]])
    for form in ("--line-porcelain", "--incremental", "--porcelain"):
        ours = tool("blame", form, "a.txt").stdout.split(b"\n")
        theirs = tool("git", "blame", form, "a.txt").stdout.split(b"\n")
        changed = {line for line in ours if line.startswith((b"author ", b"author-mail "))}
        assert {f"author {NAME}".encode(), f"author-mail <{SESSION}>".encode()} <= changed
        if form == "--line-porcelain":
            pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
            assert all(a.startswith((b"author ", b"author-mail ")) for a, _ in pairs) and pairs


def test_json_has_a_record_for_each_line(history: Path) -> None:
    linked(A, SESSION, "a.txt", [[1, 1, "t1", "toolu_1"]])
    first, second, *_ = map(json.loads, tool("blame", "--json", "a.txt").stdout.splitlines())
    assert {k: first[k] for k in ("line", "original_line", "who", "turn_id", "tool_use_id")} == {
        "line": 1,
        "original_line": 1,
        "who": "session",
        "turn_id": "t1",
        "tool_use_id": "toolu_1",
    }
    assert (first["prompt"], first["model"], first["number"]) == ("Count further", "haiku", 3)
    assert (first["checkpoint_id"], first["session_id"]) == (A, SESSION)
    assert (second["who"], second["session_id"]) == ("unrecorded", "")


def test_the_last_of_two_checkpoints_wrote_the_line_and_a_tie_is_nobodys(history: Path) -> None:
    linked(A, SESSION, "a.txt", [[1, 1, "t1", None]], "2005-04-07T22:13:13Z")
    linked(B, "other-session", "a.txt", [[1, 1, "t1", None]], "2005-04-07T23:00:00Z")
    assert authors("a.txt")[0] == f"Claude Code {shorten_id('other-session')} #3"
    linked("c" * 12, "third", "a.txt", [[1, 1, "t1", None]], "2005-04-07T23:00:00Z")
    assert authors("a.txt")[0] == "?"


def test_a_rewritten_commit_keeps_the_authors_of_what_the_rewrite_left_alone(
    history: Path,
) -> None:
    linked(A, SESSION, "a.txt", [[1, 1, "t1", None], [3, 3, "t1", None]])
    (history / "a.txt").write_text("zeroth\nfirst line\nthree\nthird line\nfourth line\nend")
    git("commit", "-qa", "--amend", "-m", "three again")
    at = Repo.find_here()
    with Objects(at):
        notes.add_link(at, git("rev-parse", "HEAD"), A)
    got = authors("a.txt")
    assert got[0] == NAME
    assert got[2] == "?"


def test_a_line_that_blame_moved_and_that_reads_otherwise_there_is_nobodys(repo: Path) -> None:
    (repo / "a.txt").write_text("one\ntwo\n")
    commit("one", 1)
    (repo / "a.txt").write_text("one\nTWO\n")
    commit("two", 2)
    linked(A, SESSION, "a.txt", [[2, 2, "t1", None]])
    (repo / "a.txt").write_text("one\nTwo!\n")
    third = commit("three", 3)
    assert authors("a.txt") == ["A U Thor", "A U Thor"]
    assert authors("--ignore-rev", third, "a.txt") == ["A U Thor", "?"]
    (repo / "a.txt").write_text("one\n  TWO\n")
    fourth = commit("four", 4)
    moved = ("--ignore-rev", third, "--ignore-rev", fourth, "-w", "a.txt")
    assert authors(*moved) == ["A U Thor", NAME]


def test_damaged_records_make_nothing_known_and_one_line_says_so(history: Path) -> None:
    for ranges in ([["a", 1, "t1"]], [[1]], "text", [[1, 10**9, 7, None]], [None]):
        linked(A, SESSION, "a.txt", ranges)
        done = tool("blame", "a.txt")
        assert done.returncode == 1 and b"(? " in done.stdout
        assert b"lines.json: 'a.txt[0]/ranges" in done.stderr and done.stderr.count(b"\n") == 1


def processes(trace: Path, *argv: str) -> int:
    """How many gits a command ran."""
    env = {**os.environ, "GITCP_TRACE": str(trace)}
    command = (sys.executable, str(BIN / "gitcp"), *argv)
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    count = sum(" git: " in line for line in trace.read_text().splitlines())
    trace.unlink()
    return count


@pytest.mark.thorough
def test_the_number_of_gits_does_not_grow_however_long_the_history(
    repo: Path, tmp_path: Path
) -> None:
    counts = []
    for n in range(6):
        with (repo / "a.txt").open("a") as file:
            file.write(f"line {n}\n")
        commit(f"number {n}", n)
        linked(f"{n:012x}", SESSION, "a.txt", [[n + 1, n + 1, "t1", None]])
        if n in (1, 5):
            asked = (("blame", "a.txt"), ("stats",), ("stats", "--survival"))
            for argv in asked:  # what git says of a repository is kept
                processes(tmp_path / "trace", *argv)
            counts.append([processes(tmp_path / "trace", *argv) for argv in asked])
    assert all(more <= few for few, more in zip(*counts, strict=True)) and min(counts[0]) >= 1
