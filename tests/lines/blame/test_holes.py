"""What reads lines goes on where contents are missing, and says at the end what it lacked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.errors import GitError
from tests.lines.blame.told_lines import text
from tests.support.checkpoints import git, loosened
from tests.support.harness import World
from tests.support.paths import BIN
from tests.support.warm import run as run_warm

BASE, MORE, LAST = text("base", *range(8)), text("more", 1, 2), text("last", 1)
KINDS = ["blob:none", "tree:0", "shallow", "lost"]
COMMANDS = [
    ("stats",),
    ("stats", "--survival"),
    ("page", "-o", "-"),
    ("blame", "dir/f.txt"),
    ("why", "dir/f.txt:1"),
    ("export-facts", "-o", "facts"),
    ("export-traces",),
]
CONTENT, HISTORY = (
    "cannot be compared; 'git fetch --refetch",
    "its parents are not here; 'git fetch --un",
)


@pytest.fixture
def origin(world: World) -> Path:
    """Three commits change a file in a directory, and a fourth another file."""
    for content in (BASE, BASE + MORE, BASE + MORE + LAST):
        world.write("dir/f.txt", content)
        world.git("add", "-A")
        world.git("commit", "-q", "-m", "change")
    world.write("g.txt", LAST)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "another")
    world.git("config", "uploadpack.allowFilter", "true")
    world.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return world.path


def make_holes(origin: Path, at: Path, kind: str) -> Path:
    """A clone that lacks the contents before HEAD, or the history before HEAD~1."""
    if kind == "lost":
        shutil.copytree(origin, at, symlinks=True)
        loosened(at / ".git")
        oid = git("rev-parse", "HEAD~2:dir/f.txt", cwd=at)
        (at / ".git/objects" / oid[:2] / oid[2:]).unlink()
        return at
    how = "--depth=2" if kind == "shallow" else f"--filter={kind}"
    git("clone", "-q", how, f"file://{origin}", str(at))
    return at


def run_traced(
    cwd: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """What stats gives, and the processes of git that it starts."""
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    done = run_warm("stats", "--json", cwd=cwd)
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    rows = map(json.loads, trace.read_text().splitlines())
    return done, [row["argv"] for row in rows if row["event"] == "start"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_reads_lines_goes_on_and_says_once_what_is_missing(
    origin: Path, tmp_path: Path, kind: str, command: tuple[str, ...]
) -> None:
    clone = make_holes(origin, tmp_path / "clone", kind)
    os.rename(origin, tmp_path / "away")
    done = run_warm(*command, cwd=clone)
    assert "fatal" not in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == 1, done.stderr
    said = [line for line in done.stderr.splitlines() if CONTENT in line or HISTORY in line]
    assert len(said) == 1, done.stderr
    assert (HISTORY if kind == "shallow" else CONTENT) in said[0]


@pytest.mark.parametrize("kind", ["blob:none", "lost"])
def test_diff_shows_the_files_whose_contents_are_missing(
    origin: Path, tmp_path: Path, kind: str
) -> None:
    clone = make_holes(origin, tmp_path / "clone", kind)
    os.rename(origin, tmp_path / "away")
    done = run_warm("diff", "HEAD~3", "HEAD~1", cwd=clone)
    shown = [line for line in done.stdout.splitlines() if "dir/f.txt" in line]
    assert done.returncode == (1 if kind == "blob:none" else 0), done.stderr
    assert len(shown) > 1
    done = run_warm("diff", "HEAD~2", "HEAD", cwd=clone)
    assert done.returncode == 1 and "fatal" not in done.stderr
    (said,) = done.stderr.splitlines()
    assert CONTENT in said
    assert "Binary files a/dir/f.txt and b/dir/f.txt differ" in done.stdout
    assert "+" + LAST.splitlines()[0] in done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["blob:none", "tree:0", "shallow"])
def test_a_line_whose_origin_is_hidden_by_a_hole_is_unknown(
    origin: Path, tmp_path: Path, kind: str
) -> None:
    clone = make_holes(origin, tmp_path / "clone", kind)
    os.rename(origin, tmp_path / "away")
    done = run_warm("blame", "--json", "HEAD", "--", "dir/f.txt", cwd=clone)
    authors = {json.loads(line)["who"] for line in done.stdout.splitlines()}
    assert authors == {"unknown"}
    counted = json.loads(run_warm("stats", "--json", cwd=clone).stdout)
    rows = [file for file in counted["files"] if file["path"] == "dir/f.txt"]
    assert not any(row[who] for row in rows for who in counted["added"])


def test_no_stand_in_enters_gits_cache_of_textconv(origin: Path, tmp_path: Path) -> None:
    clone = make_holes(origin, tmp_path / "clone", "blob:none")
    os.rename(origin, tmp_path / "away")
    git("config", "diff.up.textconv", "tr a-z A-Z <", cwd=clone)
    git("config", "diff.up.cachetextconv", "true", cwd=clone)
    (clone / ".git/info/attributes").write_text("*.txt diff=up\n")
    done = run_warm("blame", "HEAD", "--", "dir/f.txt", cwd=clone)
    assert "BASE" in done.stdout
    assert CONTENT in done.stderr
    listed = git("ls-tree", "-r", "--name-only", "refs/notes/textconv/up", cwd=clone)
    assert listed == git("rev-parse", "HEAD:dir/f.txt", cwd=clone)  # of the real contents


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_stand_in_stays_behind_where_a_signal_ends_the_command(
    origin: Path, tmp_path: Path, number: int
) -> None:
    clone = make_holes(origin, tmp_path / "clone", "blob:none")
    os.rename(origin, tmp_path / "away")
    told, held = tmp_path / "told", tmp_path / "held"
    os.mkfifo(told)
    os.mkfifo(held)
    hold = os.open(held, os.O_RDWR)
    # The textconv of a git with stand-ins says where they are, and waits.
    place = "$GIT_ALTERNATE_OBJECT_DIRECTORIES"
    textconv = f"test -z {place} || {{ echo {place} >{told}; cat {held}; }}; cat"
    git("config", "diff.up.textconv", textconv, cwd=clone)
    (clone / ".git/info/attributes").write_text("*.txt diff=up\n")
    argv = [sys.executable, str(BIN / "gitcp-blame"), "HEAD", "--", "dir/f.txt"]
    with subprocess.Popen(argv, cwd=clone, stdout=subprocess.PIPE) as blame, os.fdopen(hold):
        folder = Path(told.read_text().strip())
        assert folder.is_dir()
        blame.send_signal(number)
        assert blame.wait() == -number
        assert not folder.exists()
        held.unlink()  # a textconv that starts late would wait for it forever


def test_what_a_partial_clone_lacks_is_fetched_at_once_and_changes_no_answer(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = make_holes(origin, tmp_path / "clone", "blob:none")
    done, started = run_traced(clone, tmp_path / "trace", monkeypatch)
    assert sum("fetch" in argv for argv in started) == 1
    assert (done.returncode, done.stderr) == (0, "")
    git("clone", "-q", f"file://{origin}", str(tmp_path / "whole"))
    assert done.stdout == run_warm("stats", "--json", cwd=tmp_path / "whole").stdout


def test_a_missing_content_costs_as_many_processes_as_many_do(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    for number in (2, 30):
        for n in range(number):
            (origin / f"{number}-{n}").write_text(f"{number} {n}\n")
        git("add", "-A", cwd=origin)
        git("commit", "-q", "-m", "many", cwd=origin)
        git("rm", "-q", *(f"{number}-{n}" for n in range(number)), cwd=origin)
        git("commit", "-q", "-m", "none", cwd=origin)
        clone = make_holes(origin, tmp_path / f"clone-{number}", "blob:none")
        git("config", "remote.origin.url", str(tmp_path / "nowhere"), cwd=clone)
        _, started = run_traced(clone, tmp_path / f"trace-{number}", monkeypatch)
        counts.append(len(started))
    assert counts[0] == counts[1]


def test_of_gits_complaint_the_fatal_line_is_shown() -> None:
    said = b"warning: lazy fetching disabled\nfatal: could not fetch abc\nhint: no\n"
    assert str(GitError(("git", "log"), 128, said).shorten()) == "could not fetch abc"
    assert str(GitError(("git", "log"), 128, b"error: one\ntwo").shorten()) == "one"
