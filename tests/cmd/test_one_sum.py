"""A commit's lines are counted once: every screen, and every record, has the same numbers."""

from __future__ import annotations

import json
import shutil
import time
from typing import Any

import pytest

from gitcp.errors import OK
from gitcp.extras.ui import browse
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from tests.support.harness import Json, World
from tests.support.terminal import talk
from tests.support.warm import run


def read(world: World, name: str, *argv: str) -> Any:
    done = run(name, "--json", *argv, cwd=world.path)
    assert done.returncode == OK, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return records if name == "log" else records[0]


@pytest.fixture
def work(world: World) -> World:
    """A commit of two sessions, one with a subagent, and the person; then one of the person."""
    now = f"{int(time.time())} +0000"
    world.env |= {"GIT_AUTHOR_DATE": now, "GIT_COMMITTER_DATE": now}
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.prompt("Write one and let another write two")
    a.write("one.txt", "1\n2\n3\n")
    told: Json = {
        "tool_name": "Write",
        "tool_input": {"file_path": str(world.path / "two.txt"), "content": "1\n2\n"},
        "tool_use_id": "t9",
        "agent_id": "a0fe12",
    }
    a.event("PreToolUse", **told)
    world.write("two.txt", "1\n2\n")
    a.event("PostToolUse", **told, tool_response={})
    a.stop()
    b.turn("Write three", {"three.txt": "1\n"})
    world.write("four.txt", "mine\nmine too\n")
    world.commit("one.txt", "two.txt", "three.txt", "four.txt")
    world.write("five.txt", "mine\n")
    world.commit("five.txt")
    return world


ADDED = {"agent": 6, "person": 2, "unknown": 0, "unrecorded": 0}
SESSIONS = {"session-a": 5, "session-b": 1}


def test_six_screens_have_one_sum(work: World) -> None:
    stats = read(work, "stats", "-n", "1", "HEAD~1")
    assert stats["added"] == ADDED
    assert {s["session_id"]: s["added"] for s in stats["sessions"]} == SESSIONS
    lines: Json = {"added": ADDED, "removed": dict.fromkeys(ADDED, 0), "sessions": SESSIONS}
    lines["by_neighbours"] = 0
    own, linked, *_ = read(work, "log")
    assert "lines" not in own  # no session is behind it
    assert linked["lines"] == lines
    (commit,) = read(work, "show", "HEAD~1")["commits"]
    assert commit["lines"] == lines
    page = read(work, "page", "HEAD~1")
    assert page["stats"]["added"] == ADDED
    counted: dict[str, int] = {}
    for row in page["commits"][0]["added"].items():
        counted[row[0]] = row[1]
    assert counted == {**SESSIONS, "person": 2}
    repo = Repo.find(str(work.path))
    with Objects(repo):
        view = browse.Commits(repo)
        rows = list(view.list_rows())
        whole = view.complete_row(rows[1])
    assert whole is not None and whole.item["lines"] == lines
    assert "+6 -0" in "".join(text for line in whole.lines for text, _ in line)


def test_a_recap_and_stats_of_the_same_range_have_one_sum(work: World) -> None:
    recap = read(work, "recap")
    stats = read(work, "stats", "--since=1 week ago")
    assert recap["added"] == stats["added"]
    assert recap["added"]["agent"] == 6 and recap["added"]["person"] >= 3
    assert recap["tokens"] == stats["tokens"]
    (day,) = stats["days"]
    assert recap["days"][0]["lines"] == {who: day[who] for who in ADDED}


def test_people_read_the_same_numbers(work: World) -> None:
    shown = run("show", "--no-transcript", "HEAD~1", cwd=work.path).stdout
    assert "\nlines: 6 by Claude Code, 2 by A U Thor\n" in shown
    assert "stored as" not in shown
    work.env["GIT_PAGER"] = "cat"
    logged = talk(work, ["log", "-n", "1", "HEAD~1"])
    first, *others = logged.splitlines()
    assert first.endswith(" +8 -0")
    assert [row.split()[0] for row in others] == [shorten_id(name) for name in SESSIONS]
    told = run("show", "-v", "--no-transcript", "HEAD~1", cwd=work.path).stdout
    assert "  stored as: 5 of 8 lines by the agent (62 %)" in told
    assert "\n  5 lines of this commit\n" in told and "\n  1 line of this commit\n" in told


def test_without_the_cache_the_same_is_counted(work: World) -> None:
    asked: list[tuple[str, ...]] = [
        ("stats",),
        ("stats", "--", "one.txt"),
        ("log",),
        ("show", "HEAD~1"),
        ("recap",),
        ("page",),
    ]
    first = [read(work, *words) for words in asked]
    cache = work.path / ".git" / "gitcp" / "cache"
    assert (cache / "tallies").exists()
    again = [read(work, *words) for words in asked]
    shutil.rmtree(cache)
    assert first == again == [read(work, *words) for words in asked]
    (cache / "tallies").write_bytes(b"gitcp 1 0\ndamaged")
    assert first == [read(work, *words) for words in asked]


def test_what_was_counted_is_counted_again_when_a_checkpoint_or_a_link_changes(
    work: World,
) -> None:
    before = read(work, "stats")["added"]
    (checkpoint,) = work.ids("HEAD~1")
    work.gitcp("unlink", "-m", "wrong", "HEAD~1", checkpoint)
    unlinked = read(work, "stats")
    assert unlinked["linked"] == 0 and unlinked["added"]["agent"] == 0
    work.gitcp("link", "HEAD~1", checkpoint)
    assert read(work, "stats")["added"] == before


def test_a_line_that_came_from_elsewhere_follows_the_checkpoint_there(work: World) -> None:
    """A commit without a session moves a session's lines; its sum changes with that session's."""
    work.git("mv", "one.txt", "moved.txt")
    work.write("moved.txt", "0\n" + work.read("moved.txt"))
    shutil.move(work.path / "three.txt", work.path / "other.txt")
    work.git("add", "-A")
    work.git("commit", "-q", "-m", "move")
    before = read(work, "stats", "-n", "1")["added"]
    (checkpoint,) = work.ids("HEAD~2")
    work.gitcp("unlink", "HEAD~2", checkpoint, "-m", "wrong")
    changed = read(work, "stats", "-n", "1")["added"]
    cache = work.path / ".git" / "gitcp" / "cache"
    shutil.rmtree(cache)
    assert changed == read(work, "stats", "-n", "1")["added"]
    work.gitcp("link", "HEAD~2", checkpoint)
    assert read(work, "stats", "-n", "1")["added"] == before
