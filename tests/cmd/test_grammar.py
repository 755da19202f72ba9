"""One grammar of all screens: ids, names, times, words, and how long they are.

Each measure is taken in a store of the original program, and in the repository of the manual's
examples.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.cmd.extras import ui
from gitcp.errors import NO, OK
from gitcp.extras.ui import browse
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import count_cells
from tests.cmd.test_screens import screen
from tests.support import frozen
from tests.support.frozen import Frozen
from tests.support.sealed import environment
from tests.support.story import recorded
from tests.support.warm import run

SCREEN = 24  # lines
ALL = "--since=2005-01-01"
SHORT = (["status"], ["doctor"], ["stats"], ["recap", ALL])
SCREENS = (
    *SHORT,
    ["sessions"],
    ["sessions", "-a"],
    ["log"],
    ["log", "--oneline"],
    ["show", "HEAD~1"],
    ["why", "FILE"],
    ["why", "FILE:2"],
    ["blame", "FILE"],
    ["search", "write"],
    ["rewind", "--list"],
    ["undo", "--list"],
)
# Words of gitcp's own workings, which no screen has without -v; what is quoted is a name of git.
FORBIDDEN = re.compile(
    r"\b(checkpoints?|streams?|refs?|archived?|linked|turns?|calls?|attribution|manual-commit"
    r"|permanent store|blobs?|trailers?|unrecorded|unknown)\b"
)
QUOTED = re.compile(r"'[^']*'")


def list_screens(at: Path) -> list[list[str]]:
    """SCREENS, with a file in which an agent has written."""
    if (at / "greet.py").exists():
        name = "greet.py"
    else:
        name = "cap.py"
    return [[word.replace("FILE", name) for word in command] for command in SCREENS]


def show(at: Path, *argv: str) -> str:
    done = run(*argv, cwd=at)
    assert done.returncode in (OK, NO), done  # NO: what is missing is named
    return done.stdout


def browse_lists(at: Path, columns: int) -> Iterator[str]:
    """What `gitcp ui` draws of the sessions, the commits, the points and the keys."""
    repo = Repo.find(str(at))
    with Objects(repo):
        drawn = ui.Screen(repo, "sessions")
        for key in "123?":
            drawn.press(key)
            for _ in range(20):
                drawn.load()
            for line in drawn.draw(columns, 40):
                yield "".join(text for text, _ in line)


@pytest.fixture(scope="module")
def manuals(ground: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as tmp, environment():
        yield recorded(ground, Path(tmp))


@pytest.fixture(params=["frozen", "large", "manual"])
def place(request: pytest.FixtureRequest) -> Path:
    if request.param == "manual":
        return Path(request.getfixturevalue("manuals"))
    store: Frozen = request.getfixturevalue(f"{request.param}_store")
    return store.path


def test_the_store_is_the_same_each_time_and_log_folds_its_tasks(frozen_store: Frozen) -> None:
    assert frozen_store.commits["Begin"].startswith("fa3bc12d")
    logged = show(frozen_store.path, "log")
    assert f"and {frozen.TASKS} tasks" in logged and f"and {frozen.LATER_TASKS} tasks" in logged
    named = set(re.findall(r"^  ([0-9a-f]{8}) ", logged, re.M))
    assert named == {shorten_id(name) for name in frozen_store.sessions}


@pytest.mark.parametrize("command", SHORT, ids=" ".join)
def test_a_screen_has_at_most_24_lines(place: Path, command: list[str]) -> None:
    assert 0 < len(screen(place, ["gitcp", *command], 80).splitlines()) - 1 <= SCREEN


def test_no_task_has_a_row(large_store: Frozen) -> None:
    tasks = {shorten_id(name) for name in large_store.tasks}
    for command in (
        ["log"],
        ["recap", ALL, "-v"],
        ["stats"],
        ["stats", "--by=session"],
        ["sessions", "-a"],
        ["show", large_store.commits["Add file 7"]],
    ):
        told = show(large_store.path, *command)
        assert not tasks & set(re.findall(r"\b[0-9a-f]{8}\b", told)), command
        assert set(re.findall(r"and (\d+) tasks", told)) <= {"3", "4", "20", "23"}
    for command in (["stats"], ["recap", ALL], ["sessions", "-a"], ["log"]):
        told = show(large_store.path, *command, "--json")
        assert not [name for name in large_store.tasks if f'"{name}"' in told], command
    (stats,) = [json.loads(line) for line in show(large_store.path, "stats", "--json").splitlines()]
    first = next(row for row in stats["sessions"] if row["session_id"] == frozen.HARDENING)
    assert (first["tasks"], first["turns"]) == (frozen.TASKS + frozen.LATER_TASKS, 2)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_row_wraps(place: Path, width: int) -> None:
    for command in list_screens(place):
        text = screen(place, ["gitcp", *command], width)
        long = [line for line in text.splitlines() if count_cells(line) > width]
        assert not long, (command, long)
    drawn = [*browse_lists(place, width)]
    assert len(drawn) > 100
    assert not [line for line in drawn if count_cells(line) > width]


def test_ids_have_eight_digits_and_show_takes_each(manuals: Path, frozen_store: Frozen) -> None:
    for at in (manuals, frozen_store.path):
        ids: set[str] = set()
        for command in list_screens(at):
            told = QUOTED.sub("", show(at, *command))
            assert not re.search(r"\b[0-9a-f]{9,}\b|[0-9a-f]{8}-[0-9a-f]{4}-", told), told
            ids |= set(re.findall(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b", told))
        ids.discard("00000000")  # git's blame says so of what is not committed
        assert len(ids) > 3
        for name in ids:
            done = run("show", "--no-transcript", name, cwd=at)
            assert done.returncode != 128 or "is not here" in done.stderr, (name, done.stderr)


@pytest.mark.thorough
def test_no_screen_has_a_word_of_gitcps_own(place: Path) -> None:
    for command in list_screens(place):
        for line in screen(place, ["gitcp", *command], 120).splitlines():
            if "> " in line:  # a prompt's own words
                continue
            assert not FORBIDDEN.search(QUOTED.sub("", line)), (command, line)
    for line in browse_lists(place, 120):
        if "> " not in line:
            assert not FORBIDDEN.search(QUOTED.sub("", line)), line


@pytest.mark.parametrize(
    ("zone", "day"), [("UTC", "16 Mar"), ("America/New_York", "15 Mar"), ("Asia/Tokyo", "16 Mar")]
)
def test_a_commit_has_one_time_everywhere(
    frozen_store: Frozen, monkeypatch: pytest.MonkeyPatch, zone: str, day: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    at, oid = frozen_store.path, frozen_store.commits["Cap requests"]
    full = f"2026-03-{day[:2]}"
    assert re.match(rf"{oid[:8]}  {day}( 26)? ", show(at, "log", "-n1", oid))
    assert re.match(rf"{oid[:8]}  {day}( 26)? ", show(at, "show", oid))
    (row,) = show(at, "stats", "--by=day", f"{oid}~1..{oid}").splitlines()
    assert row.split() == [full, "6"]
    recap = show(at, "recap", ALL, "-v").splitlines()
    below = next(n for n, line in enumerate(recap) if line.endswith("Cap requests"))
    heads = [line for line in recap[:below] if not line.startswith(" ")]
    assert heads[-1].startswith(day)
    time.tzset()
    repo = Repo.find(str(at))
    with Objects(repo):
        rows = [row for row in browse.Commits(repo).list_rows() if row.id == oid]
    monkeypatch.undo()
    time.tzset()
    assert rows[0].day.endswith(f" {full}")


def test_where_nothing_is_there_is_a_sentence(repo: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    for command in (
        ["sessions"],
        ["sessions", "-a"],
        ["recap", "--since=2037-01-01"],
        ["recap", "--repos", str(nothing)],
        ["status"],
        ["show"],
    ):
        done = run(*command, cwd=repo)
        assert (done.returncode, done.stderr) == (OK, ""), command
        assert 1 <= done.stdout.count("\n") <= 2 and "'gitcp " in done.stdout + "'gitcp ", command
    assert run("show", "nix", cwd=repo).returncode == 128
