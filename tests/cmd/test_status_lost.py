"""status: what is not where it was: streams that moved or went, stashed work, lost links."""

from __future__ import annotations

import json

import pytest

from gitcp.text.short_ids import shorten_id
from tests.support.harness import Agent, Json, World
from tests.support.warm import run


def records(world: World, kind: str) -> list[Json]:
    lines = world.gitcp("status", "--json").splitlines()
    return [one for one in map(json.loads, lines) if one["type"] == kind]


def test_a_stream_that_moved_is_shown_where_it_is(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": "a\n"})
    before = world.branch()
    world.write("mine.txt", "mine\n")
    assert world.commit("mine.txt") == []
    assert before != world.branch()
    assert f"1 uncommitted file on {world.branch()}" in world.gitcp("status", "-v")
    [session] = records(world, "session")
    assert session["stream"] == f"refs/heads/{world.branch()}"


def test_a_stream_that_is_gone_is_said_to_be(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": "a\n"})
    world.git("update-ref", "-d", f"refs/heads/{world.branch()}")
    assert "1 uncommitted file, whose stream is gone" in world.gitcp("status", "-v")
    assert [session["stream"] for session in records(world, "session")] == [""]


def test_a_turns_files_are_not_called_committed(world: World) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("begin", {"a.py": "a = 1\n"})
    world.commit()
    a.prompt("go on")
    a.write("b.py", "b = 1\n")
    assert "1 uncommitted file of this turn" in world.gitcp("status", "-v")
    assert "working  b.py\n" in world.gitcp("status")
    a.stop()
    assert f"1 uncommitted file on {world.branch()}" in world.gitcp("status", "-v")


def test_work_that_another_session_overwrote_is_not_called_uncommitted(world: World) -> None:
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.turn("write", {"a.py": "def add(a, b):\n    return a + b\n"})
    b.turn("write all anew", {"a.py": "import operator\nplus = operator.add\n"})
    world.commit()
    assert "not committed" not in world.gitcp("status")
    assert not [s for s in records(world, "session") if s.get("files_touched")]


def test_a_stream_that_a_rebase_has_settled_is_not_shown_as_live(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": "a\n"})
    world.write("mine.txt", "mine\n")
    world.commit("mine.txt")
    world.env["GIT_SEQUENCE_EDITOR"] = "sed -i s/pick/edit/"
    world.git("rebase", "-q", "-i", "HEAD~1")
    world.git("add", "a.txt")
    world.git("commit", "-q", "-m", "the agent's, in the midst of it")
    world.git("rebase", "--continue")
    assert a.state.get("files_touched") is None, "the rebase has committed it"
    rows = world.gitcp("status", "-v").partition("Streams:\n")[2].splitlines()
    assert not [row for row in rows if row.split()[0] == "live"]
    assert all(stream.get("settled") for stream in records(world, "stream"))


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
def test_stashed_work_is_told_with_its_stash(world: World, a: Agent, mode: str) -> None:
    world.git("config", "gitcp.streams", mode)
    a.turn("write", {"a.txt": "a\n"})
    old = world.streams[0]
    world.git("stash", "-u", "-q")
    b = world.agent("session-b")
    told = b.prompt("something else").said
    b.write("b.txt", "b\n")
    b.stop()
    kept = f"refs/gitcp/archive/{old.removeprefix('entire/')}/1"
    ref = f"refs/heads/{old}" if mode == "suffix" else kept
    assert f"work of session 'session-a' is in stash@{{0}}; '{ref}' keeps its checkpoints" in told
    assert world.refs(ref)
    if mode == "overlap":
        [entry] = records(world, "status")[0]["stashes"]
        assert entry["sessions"] == ["session-a"]
        rows = world.gitcp("status").partition("in the stash\n")[2].splitlines()
        assert rows[0].split() == [entry["oid"][:8], "stash@{0}", "by", "hand", "a.txt"]
        assert rows[1].strip() == f"work of {shorten_id('session-a')}"
        world.git("stash", "pop", "-q")
        assert "stash@" not in world.gitcp("status")


def test_links_that_could_be_found_again_are_counted(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": "a\n"})
    [one] = world.commit()
    assert "gitcp relink" not in world.gitcp("status")
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "-m", "no line")
    (world.path / ".git/gitcp/looked").unlink()  # else status links it again
    counted = "! 1 commit lost what session wrote it: 'gitcp relink' finds it again\n"
    assert counted in world.gitcp("status")
    topics = world.path / ".git/refs/heads/topics"
    topics.mkdir()
    for n in range(301):  # so many that git reads them only if it has to
        (topics / str(n)).write_text(f"{world.head}\n")
    assert counted in world.gitcp("status")
    assert one in world.gitcp("relink")
    assert "gitcp relink" not in world.gitcp("status")


def test_a_broken_branch_does_not_hide_the_sessions(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    a.turn("write a file", {"a.py": "a\n"})
    world.git("add", "a.py")
    world.git("commit", "-qm", "add a")
    a.turn("write more", {"b.py": "b\n"})
    (world.path / ".git/refs/heads/entire/checkpoints/v1").write_text("1" * 40 + "\n")
    monkeypatch.chdir(world.path)
    done = run("status")
    assert done.returncode == 0 and "write more" in done.stdout
    assert "bad object" in done.stderr and "'gitcp doctor' says more" in done.stderr


def test_what_a_stash_took_before_a_look_has_its_sessions_though_others_wrote_since(
    world: World, a: Agent
) -> None:
    b = world.agent("session-b")
    a.turn("one", {"README.md": "a line that session a wrote\n"})
    world.write("README.md", "a line that session a wrote\nand one of the person\n")
    world.git("stash", "-q")
    b.turn("two", {"README.md": "a line that session b wrote\n"})
    world.git("checkout", "-q", "README.md")
    b.prompt("three")
    (status, *_) = records(world, "status")
    assert [entry["sessions"] for entry in status["stashes"]] == [[a.sid]]


def test_what_a_pop_brings_back_before_a_look_has_its_sessions(world: World, a: Agent) -> None:
    a.turn("one", {"f.txt": "a line that session a wrote\n"})
    world.write("f.txt", "a line that session a wrote\nand one of the person\n")
    world.git("stash", "-u", "-q")
    a.prompt("go on")
    world.git("stash", "pop", "-q")
    assert [one["files_touched"] for one in records(world, "session")] == [["f.txt"]]
    rows = map(json.loads, world.gitcp("blame", "f.txt", "--json").splitlines())
    assert [row["session_id"] for row in rows] == [a.sid, ""]
