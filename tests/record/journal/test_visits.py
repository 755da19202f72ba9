"""A session in several repositories: each has the turns that wrote in it, and no others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.record.journal.lines import shares, text
from tests.support import warm
from tests.support.clients.calls import begin, edit, end, run
from tests.support.harness import REFUSED, Agent, World
from tests.support.linking import ids, sessions, sound
from tests.support.screens import ALL_WELL


@pytest.fixture(params=["beside", "submodule"])
def other(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """Another repository in which gitcp is enabled: a clone beside, or a submodule."""
    made = World(make_other(world, request.param), world.home)
    yield made
    made.close()


def make_other(world: World, kind: str, name: str = "other", enable: bool = True) -> Path:
    if kind == "beside":
        at = world.path.parent / name
        world.git("clone", "-q", str(world.path), str(at))
    elif kind == "nested":
        at = world.path / name
        world.git("clone", "-q", str(world.path), str(at))
    else:
        at = world.path / name
        add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
        world.git(*add, str(world.path), name)
        world.git("commit", "-q", "-m", "add a submodule")
    if enable:
        warm.command("enable", [], at, os.environ).check_returncode()
    return at


def write_there(a: Agent, at: Path, path: str, content: str) -> None:
    """A file tool's call that names a path of another repository."""
    call = begin(a, "Write", file_path=str(at / path), content=content)
    (at / path).write_text(content)
    end(a, call)


def everything(world: World) -> str:
    """All that the objects of a repository say."""
    batch = ("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)")
    oids = [line.split() for line in world.git(*batch).splitlines()]
    return "".join(world.git("cat-file", "-p", oid) for kind, oid in oids if kind != "tree")


def test_an_edit_is_recorded_where_its_path_lies(world: World, other: World, a: Agent) -> None:
    a.prompt("write there")
    write_there(a, other.path, "new.txt", text(1, 2))
    a.stop()
    (branch,) = [ref for ref in other.refs("refs/heads/entire") if "checkpoints" not in ref]
    assert "new.txt" in other.tree(branch)
    other.commit()
    assert shares(other) == {a.sid: 2}
    assert "write there" in other.gitcp("why", "new.txt:1")
    rows = [json.loads(row) for row in other.gitcp("blame", "--json", "new.txt").splitlines()]
    assert [row["session_id"] for row in rows if row.get("who")] == [a.sid, a.sid]
    sound(other)
    a.end()
    assert world.gitcp("fsck") == ""


def test_each_repository_gets_the_turns_that_wrote_in_it_and_no_conversation_of_others(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("the first, at home alone: plover")
    edit(a, "mine.txt", text(3))
    a.stop()
    a.prompt("the second, there")
    a.answer([{"type": "text", "text": "thinking of xyzzy"}])
    write_there(a, other.path, "new.txt", text(1, 2))
    a.stop()
    a.prompt("the third, at home again: plugh")
    edit(a, "mine.txt", text(3, 4))
    other.commit()
    a.stop()
    world.git("add", "mine.txt")
    world.git("commit", "-q", "-m", "mine")
    a.end()
    [one] = ids(other)
    assert list(sessions(other, one)) == [a.sid]
    there, here = everything(other), everything(world)
    assert "the second, there" in there
    assert not [word for word in ("plover", "plugh", "xyzzy", "mine.txt") if word in there]
    assert all(word in here for word in ("plover", "the second", "xyzzy"))
    assert shares(world) == {a.sid: 2}


def test_a_command_that_runs_there_is_the_sessions(world: World, other: World, a: Agent) -> None:
    a.prompt("generate it there")
    other.write("mine.txt", text(3))
    where = os.path.relpath(other.path, world.path)
    run(a, f"cd {where} && printf 'one line of it\\n' >made.txt")
    other.write("later.txt", text(4))
    a.stop()
    other.commit("made.txt")
    assert shares(other) == {a.sid: 1}
    assert other.commit("mine.txt", "later.txt") == []


def test_a_commit_in_each_links_its_own(world: World, other: World, a: Agent) -> None:
    a.prompt("write both and commit them")
    edit(a, "here.txt", text(1))
    write_there(a, other.path, "there.txt", text(2, 3))
    where = os.path.relpath(other.path, world.path)
    run(a, f"git -C {where} add there.txt && git -C {where} commit -q -m there")
    run(a, "git add here.txt && git commit -q -m here")
    a.stop()
    assert (shares(world), shares(other)) == ({a.sid: 1}, {a.sid: 2})
    assert ids(world) != ids(other)
    sound(world)
    sound(other)


def test_what_the_agent_writes_after_it_has_changed_into_another_is_recorded_there_alone(
    world: World, other: World, a: Agent
) -> None:
    world.env["CLAUDE_PROJECT_DIR"] = str(world.path)
    a.prompt("write there")
    write_there(a, other.path, "new.txt", text(1))
    a.cwd = other.path
    a.stop()
    a.prompt("and here: plover")
    a.write("second.txt", text(2))
    call = begin(a, "Write", file_path=str(world.path / "home.txt"), content=text(3))
    world.write("home.txt", text(3))
    end(a, call)
    a.stop()
    other.commit()
    world.git("add", "home.txt")
    world.git("commit", "-q", "-m", "home")
    assert shares(world) == {a.sid: 1}
    assert shares(other).get(a.sid) == 1
    assert "plover" not in everything(other)


@pytest.mark.thorough
def test_a_client_started_above_several_clones_works_in_each(world: World) -> None:
    world.gitcp("enable")
    second = World(make_other(world, "beside"), world.home)
    third = World(make_other(world, "beside", "third"), world.home)
    a = world.agent("above", cwd=world.path.parent)
    a.start()
    a.prompt("write in two of the three")
    write_there(a, world.path, "one.txt", text(1))
    write_there(a, second.path, "two.txt", text(2, 3))
    run(a, "cd repo && printf 'made\\n' >made.txt")
    a.stop()
    world.commit()
    second.commit()
    a.end()
    assert (shares(world), shares(second)) == ({a.sid: 2}, {a.sid: 2})
    assert "write in two of the three" in second.gitcp("why", "two.txt:1")
    assert not third.refs("refs/heads/entire")
    assert third.state("above") == {}
    second.close()
    third.close()


def test_a_nested_clone_that_is_not_registered_is_left_alone(world: World, a: Agent) -> None:
    at = make_other(world, "nested", enable=False)
    before = sorted(os.listdir(at / ".git"))
    a.prompt("write there")
    write_there(a, at, "new.txt", text(1))
    run(a, "cd other && printf 'made\\n' >made.txt")
    a.stop()
    assert sorted(os.listdir(at / ".git")) == before


def test_nothing_is_recorded_where_gitcp_is_disabled(world: World, other: World, a: Agent) -> None:
    warm.command("disable", [], other.path, os.environ).check_returncode()
    a.prompt("write there")
    write_there(a, other.path, "new.txt", text(1))
    a.stop()
    assert other.commit() == []
    assert not other.refs("refs/heads/entire")


def test_status_says_in_which_repositories_a_session_is(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("write there")
    edit(a, "mine.txt", text(1))
    assert "also in" not in world.gitcp("status")
    write_there(a, other.path, "new.txt", text(1))
    assert f"also in {other.path}" in world.gitcp("status")
    assert f"also in {world.path}" in other.gitcp("status")


def test_the_end_of_a_session_ends_it_in_each(world: World, other: World, a: Agent) -> None:
    a.prompt("write there")
    write_there(a, other.path, "new.txt", text(1))
    assert other.state(a.sid)["phase"] == "active"
    a.stop()
    assert other.state(a.sid)["phase"] == "idle"
    a.end()
    assert other.state(a.sid)["phase"] == "ended"
    assert other.commit("new.txt") != []
    assert "also in" not in world.gitcp("status")


def test_a_prompt_ends_the_turn_that_was_interrupted_there(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("write there")
    write_there(a, other.path, "new.txt", text(1))
    a.prompt("something else")
    assert other.state(a.sid)["phase"] == "idle"
    other.commit()
    assert shares(other) == {a.sid: 1}


def test_after_a_crash_the_work_there_is_linked(world: World, other: World, a: Agent) -> None:
    a.prompt("write there")
    write_there(a, other.path, "new.txt", text(1))
    world.kill(a)
    b = other.agent("session-b")
    b.start()
    b.prompt("go on")
    assert other.state(a.sid)["phase"] == "ended"
    other.commit()
    assert shares(other) == {a.sid: 1}


def test_a_rewind_in_one_leaves_the_other_alone(world: World, other: World, a: Agent) -> None:
    a.prompt("write both")
    edit(a, "here.txt", text(1))
    write_there(a, other.path, "there.txt", text(2))
    a.stop()
    other.gitcp("rewind", "--session", a.sid, "--force")
    assert (world.path / "here.txt").exists()
    assert not (other.path / "there.txt").exists()


def test_a_turn_that_only_read_there_leaves_nothing_there(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("read there: plover")
    run(a, f"cat {other.path}/README.md")
    a.stop()
    a.prompt("write there: plugh")
    write_there(a, other.path, "new.txt", text(1))
    a.stop()
    a.prompt("read there: xyzzy")
    run(a, f"cat {other.path}/README.md")
    other.commit()
    a.stop()
    a.end()
    there = everything(other)
    assert [word for word in ("plover", "plugh", "xyzzy") if word in there] == ["plugh"]
    [one] = ids(other)
    assert "plugh" in other.gitcp("show", one)


@pytest.mark.parametrize("tells", ["where it was started", "nothing"])
def test_a_client_above_several_clones_may_change_into_one(world: World, tells: str) -> None:
    second = World(make_other(world, "beside"), world.home)
    above = world.path.parent
    if tells != "nothing":
        world.env["CLAUDE_PROJECT_DIR"] = str(above)
    a = world.agent("above", cwd=above)
    a.prompt("the first: plover")
    a.answer([{"type": "text", "text": "thinking of xyzzy"}])
    write_there(a, second.path, "one.txt", text(1))
    a.cwd = second.path
    run(a, "printf 'made\n' >made.txt")
    a.stop()
    second.commit()
    assert shares(second) == {a.sid: 2}
    assert "transcript_path" not in second.state(a.sid)
    a.cwd = above
    a.end()
    assert "xyzzy" not in everything(second)
    second.close()


def test_a_command_that_writes_there_and_commits_gives_its_prompt(
    world: World, other: World, a: Agent
) -> None:
    where = os.path.relpath(other.path, world.path)
    for n in (1, 2):
        a.prompt(f"prompt {n}")
        run(a, f"cd {where} && echo {n} >>f.txt && git add f.txt && git commit -q -m {n}")
        a.stop()
        [one] = ids(other)
        assert f"prompt {n}" in other.gitcp("show", one)
        assert not other.state(a.sid).get("pending_finalize")
    assert other.gitcp("doctor") == ALL_WELL


def test_the_prompt_of_a_call_that_failed_there_stays_out(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("it fails: plover")
    begin(a, "Write", file_path=str(other.path / "new.txt"), content=text(1))
    a.stop()
    a.prompt("it succeeds: plugh")
    write_there(a, other.path, "new.txt", text(1))
    a.stop()
    other.commit()
    there = everything(other)
    assert [word for word in ("plover", "plugh") if word in there] == ["plugh"]


def test_a_session_that_goes_on_in_the_other_repository_is_a_guest_there_as_before(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("write there")
    a.answer([{"type": "text", "text": "thinking of xyzzy"}])
    write_there(a, other.path, "new.txt", text(1))
    a.stop()
    a.end()
    a.cwd = other.path
    a.start("resume")
    a.prompt("write here")
    edit(a, "second.txt", text(2, 3))
    a.stop()
    assert other.state(a.sid)["phase"] == "idle"
    other.commit()
    assert shares(other) == {a.sid: 3}
    a.prompt("only a question")
    a.stop()
    assert other.state(a.sid)["phase"] == "idle"
    assert "write here" in other.gitcp("why", "second.txt:1")
    assert "xyzzy" not in everything(other)


@pytest.mark.parametrize("successor", ["nothing", "a repository of somebody else"])
def test_the_session_moves_when_its_worktree_there_is_removed(
    world: World, other: World, a: Agent, successor: str
) -> None:
    linked = other.path.parent / "linked"
    other.git("worktree", "add", "-q", str(linked))
    a.prompt("write in the linked one")
    write_there(a, linked, "new.txt", text(1))
    other.git("worktree", "remove", "--force", str(linked))
    if successor != "nothing":
        world.git("clone", "-q", str(world.path), str(linked))
        (linked / ".git" / "gitcp").mkdir()
    a.stop()
    a.prompt("write in the main one")
    write_there(a, other.path, "new.txt", text(1, 2))
    a.stop()
    other.commit()
    assert shares(other) == {a.sid: 2}
    assert successor == "nothing" or os.listdir(linked / ".git" / "gitcp") == []


def test_a_command_refused_there_has_not_begun_at_home(
    world: World, other: World, a: Agent
) -> None:
    other.git("config", "gitcp.guard", "deny")
    other.write("theirs.txt", text(1))
    other.git("add", "theirs.txt")
    other.git("commit", "-q", "-m", "theirs")
    b = other.agent("session-b")
    b.start()
    b.prompt("write here")
    edit(b, "theirs.txt", text(1, 2))
    a.prompt("remove it")
    command = f"rm {os.path.relpath(other.path, world.path)}/theirs.txt"
    given = {"command": command}
    done = a.event("PreToolUse", tool_name="Bash", tool_use_id="toolu_r", tool_input=given)
    assert done.status == REFUSED
    assert f"Repository:     {other.path}" in done.stdout + done.stderr
    world.write("mine.txt", text(3))
    a.stop()
    assert world.commit("mine.txt") == []


def test_a_call_there_whose_end_was_not_heard_has_its_prompt_at_the_turns_end(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("write there: plugh")
    begin(a, "Write", file_path=str(other.path / "new.txt"), content=text(1, 2))
    other.write("new.txt", text(1, 2))
    a.stop()
    other.commit()
    assert shares(other) == {a.sid: 2}
    assert "write there: plugh" in other.gitcp("why", "new.txt:1")


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["beside", "inside"])
def test_what_a_session_writes_in_two_worktrees_of_another_repository_is_its_own_in_each(
    world: World, other: World, a: Agent, where: str
) -> None:
    linked = other.path.parent / "linked" if where == "beside" else other.path / ".wt" / "linked"
    other.git("worktree", "add", "-q", str(linked))
    there = World(linked, world.home)
    a.prompt("write in both")
    run(a, f"cd {other.path} && printf 'one line of it\\n' >made.txt")
    run(a, f"cd {linked} && printf 'one line of it\\nand another\\n' >made.txt")
    write_there(a, linked, "tool.txt", text(1))
    (linked / "mine.txt").write_text(text(2))
    a.stop()
    other.commit("made.txt")
    there.commit()
    assert shares(other) == {a.sid: 1}
    assert shares(other, there.git("rev-parse", "HEAD")) == {a.sid: 3, "person": 1}
    assert "write in both" in there.gitcp("why", "made.txt:1")
    sound(other)


def test_what_a_command_writes_in_a_worktree_of_another_repository_alone_is_the_sessions(
    world: World, other: World, a: Agent
) -> None:
    linked = other.path / ".wt" / "linked"
    other.git("worktree", "add", "-q", str(linked))
    there = World(linked, world.home)
    a.prompt("write there")
    a.cwd = linked
    run(a, "printf 'one line of it\\n' >made.txt")
    other.write("mine.txt", text(2))
    a.stop()
    there.commit("made.txt")
    assert shares(other, there.git("rev-parse", "HEAD")) == {a.sid: 1}
    assert other.commit("mine.txt") == []


def test_a_worktree_of_another_repository_that_a_command_makes_has_its_work(
    world: World, other: World, a: Agent
) -> None:
    a.prompt("make a worktree for it")
    add = f"git -C {other.path} worktree add -q -b side {other.path}/.wt/side"
    run(a, f"{add} && cd {other.path}/.wt/side && printf 'one line of it\\n' >made.txt")
    a.stop()
    there = World(other.path / ".wt" / "side", world.home)
    there.commit()
    assert shares(other, there.git("rev-parse", "HEAD")) == {a.sid: 1}
