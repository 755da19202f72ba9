"""A file tool's own paths, whoever looks at the worktree between its start and its end."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gitcp.git.repo import Repo
from gitcp.record import journal
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import parse_lines
from tests.record.journal.lines import shares, text
from tests.support.clients.calls import begin, edit, end, result, run
from tests.support.harness import Agent, World
from tests.support.linking import sessions, sound, touched


@pytest.mark.parametrize("looks", ["a commit", "a turn's end", "a turn without tools", "a shell"])
def test_what_a_file_tool_writes_is_the_sessions_though_others_look_before_its_end(
    world: World, a: Agent, b: Agent, looks: str
) -> None:
    b.prompt("another session")
    if looks != "a turn without tools":
        run(b, "true")
    a.prompt("write it")
    call = begin(a, "Write", file_path=str(world.path / "new.txt"))
    world.write("new.txt", text(1, 2, 3))
    if looks == "a commit":
        world.write("mine.txt", "the person's own file\n")
        assert world.commit("mine.txt") == []
    elif looks == "a shell":
        run(b, "ls")
    else:
        b.stop()
    end(a, call)
    a.stop()
    [one] = world.commit("new.txt")
    assert shares(world) == {a.sid: 3}
    assert list(sessions(world, one)[a.sid]["files"]) == ["new.txt"]
    sound(world)


def test_a_commit_of_what_a_file_tool_has_just_written_links(world: World, a: Agent) -> None:
    a.prompt("write it")
    call = begin(a, "Write", file_path=str(world.path / "new.txt"))
    world.write("new.txt", text(1, 2, 3))
    assert world.commit("new.txt")
    assert shares(world) == {a.sid: 3}
    end(a, call)
    a.stop()
    sound(world)


def test_after_a_file_tool_that_was_refused_the_path_is_the_persons(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("write it")
    call = begin(a, "Write", file_path=str(world.path / "new.txt"))
    result(a, call, "The user doesn't want to proceed with this tool use.")
    time.sleep(0.05)  # a transcript tells milliseconds
    world.write("new.txt", "by hand instead\n")
    b.prompt("another session looks")
    b.stop()
    a.stop()
    assert world.commit("new.txt") == []


def test_a_file_tool_claims_no_path_but_its_own(world: World, a: Agent) -> None:
    a.prompt("write it")
    call = begin(a, "Write", file_path=str(world.path / "src/new.txt"))
    world.write("new.txt", "the person's, of the same name\n")
    assert world.commit("new.txt") == []
    end(a, call)


@pytest.mark.parametrize("by", ["its tool", "its transcript", "its replacement"])
def test_what_a_file_tool_writes_by_a_symbolic_link_is_the_sessions(
    world: World, a: Agent, by: str
) -> None:
    world.write("src/notes.txt", text(1))
    (world.path / "link.txt").symlink_to("src/notes.txt")
    world.commit()
    a.prompt("write it")
    run(a, "true")  # its tools are heard
    if by == "its transcript":
        a.tools = False
        a.write("link.txt", text(1, 2, 3))
    else:
        call = begin(a, "Write", file_path=str(world.path / "link.txt"))
        if by == "its replacement":
            (world.path / "link.txt").unlink()
        world.write("link.txt", text(1, 2, 3))
        end(a, call)
    a.stop()
    [one] = world.commit()
    written = "link.txt" if by == "its replacement" else "src/notes.txt"
    assert list(sessions(world, one)[a.sid]["files"]) == [written]
    assert shares(world)[a.sid] == (3 if by == "its replacement" else 2)
    sound(world)


def test_a_file_tool_is_over_with_its_end(world: World, a: Agent) -> None:
    a.prompt("write it")
    edit(a, "new.txt", text(1, 2, 3))
    calls = credit.list_calls(parse_lines((world.path / ".git/gitcp/journal").read_bytes()))
    assert [call.is_running for call in calls] == [False]
    world.write("new.txt", text(1, 2, 3, 4))
    world.commit("new.txt")
    assert shares(world) == {a.sid: 3, "person": 1}


def test_what_is_written_while_a_worktree_is_read_is_not_undone_by_that_look(
    world: World, a: Agent, b: Agent
) -> None:
    wait = "touch .git/reading; until [ -e .git/go ]; do sleep 0.02; done; cat"
    world.git("config", "filter.slow.clean", wait)
    world.write(".git/info/attributes", "*.slow filter=slow\n")
    b.prompt("another session")
    a.prompt("write it")
    world.write("b.slow", "read last, and slowly\n")
    with ThreadPoolExecutor() as pool:
        stop = pool.submit(b.stop)
        try:
            while not (world.path / ".git/reading").exists():
                assert not stop.done()
            edit(a, "new.txt", text(1, 2, 3))
        finally:
            world.write(".git/go", "")
        stop.result()
    a.stop()
    journal = credit.list_edits(parse_lines((world.path / ".git/gitcp/journal").read_bytes()))
    own = [edit.author[0] for edit in journal if edit.path == "new.txt"]
    assert own == [a.sid], "nobody deleted it"
    world.commit("new.txt")
    assert shares(world) == {a.sid: 3}


def test_a_file_outside_the_worktree_is_written_without_a_trace_here(
    world: World, a: Agent
) -> None:
    outside = world.path.parent / "outside"
    outside.mkdir()
    (world.path / "link").symlink_to(outside)
    a.prompt("write it elsewhere")
    for path in (str(outside / "one.txt"), "../outside/two.txt", "link/three.txt"):
        edit(a, path, text(1))
    edit(a, "here.txt", text(2))
    a.stop()
    journal = credit.list_edits(parse_lines((world.path / ".git/gitcp/journal").read_bytes()))
    assert {edit.path for edit in journal} == {"link", "here.txt"}
    [one] = world.commit()
    assert list(sessions(world, one)[a.sid]["files"]) == ["here.txt"]


@pytest.mark.parametrize("heard", ["its tool", "its transcript", "a commit before its end"])
@pytest.mark.parametrize("whose", ["the person's", "its own", "another session's"])
def test_a_file_tools_edit_back_to_an_older_content_links(
    world: World, a: Agent, b: Agent, whose: str, heard: str
) -> None:
    world.write("f.txt", text(1, 2, 3))
    world.commit("f.txt")
    writer = {"its own": a, "another session's": b}.get(whose)
    if writer:
        writer.prompt("more lines")
        edit(writer, "f.txt", text(1, 2, 3, 4, 5))
        writer.stop()
    else:
        world.write("f.txt", text(1, 2, 3, 4, 5))
    world.commit("f.txt")
    a.prompt("take the lines out again")
    if heard == "its transcript":
        run(a, "true")
        a.write("f.txt", text(1, 2, 3))
    else:
        call = begin(a, "Write", file_path=str(world.path / "f.txt"))
        world.write("f.txt", text(1, 2, 3))
        if heard == "its tool":
            end(a, call)
    if heard != "a commit before its end":
        a.stop()
    [one] = world.commit("f.txt")
    assert touched(world, one, a.sid) == ["f.txt"]
    assert sessions(world, one)[a.sid]["initial_attribution"]["lines_removed"]["agent"] == 2
    sound(world)


def test_a_file_that_a_pattern_ignores_is_kept_while_it_is_tracked(world: World, a: Agent) -> None:
    world.write(".gitignore", "secret*\n")
    world.write("secret", text(1))
    world.git("add", "-f", ".")
    world.commit(".gitignore")

    def is_kept(number: int) -> bool:
        edit(a, "secret", text(number))
        edits = credit.list_edits(journal.read_journal(Repo.find(str(world.path))))
        return [edit for edit in edits if edit.path == "secret"][-1].is_kept

    a.prompt("write")
    assert is_kept(2)
    world.git("update-index", "--assume-unchanged", "secret")
    assert is_kept(3)
    world.git("update-index", "--no-assume-unchanged", "--index-version", "4", "secret")
    assert is_kept(4)
    world.git("rm", "-q", "--cached", "secret")
    assert not is_kept(5)
    world.git("update-index", "--index-version", "2")
    world.git("add", "-N", "-f", "secret")
    assert is_kept(6)
    world.git("rm", "-q", "-f", "--cached", "secret")
    assert not is_kept(7)
