"""Sequences in which the plain rules of overlap and suffix contradict each other
(doc/behaviour.md "Streams")."""

from __future__ import annotations

import os

import pytest

from tests.support.harness import Agent, World

README = "line one\nline two\nline three\n"
MORE = README + "line four of the agent\n"
LOGIN = "def login():\n    return check_password()\n"


def test_a_turn_that_only_answers_on_a_clean_worktree_changes_nothing(
    world: World, a: Agent
) -> None:
    a.turn("what is this?")
    assert world.streams == []
    assert world.open() == []
    a.turn("write", {"src/a.py": "a = 1\n"})
    world.git("clean", "-qfd")
    before = world.refs("refs/heads/entire")
    a.turn("and that?")
    assert world.refs("refs/heads/entire") == before
    assert not a.flag()
    assert a.state["files_touched"] == ["src/a.py"]


def test_an_untracked_file_that_is_always_there_keeps_no_stream_alive(
    world: World, a: Agent, b: Agent
) -> None:
    world.write("notes.txt", "the person's own\n")
    a.turn("work", {"README.md": MORE})
    world.git("restore", ".")
    b.turn("other work", {"src/b.py": "b = 1\n"})
    assert b.verdict == "reset"
    assert "notes.txt" not in (a.state["files_touched"] + b.state["files_touched"])
    assert sorted(world.tree(world.branch())) == ["notes.txt", "src/b.py"]


def test_carried_forward_files_stashed_before_the_next_prompt_note_return(
    world: World, a: Agent
) -> None:
    a.turn("two files", {"README.md": MORE, "src/a.py": "a = 'by a'\n"})
    world.commit("README.md")
    assert world.tree(world.branch()) == {"src/a.py": "a = 'by a'\n"}
    world.git("stash", "-u")
    a.turn("more", {"src/c.py": "c = 1\n"})
    assert a.verdict == "reset"
    assert a.state["files_touched"] == ["src/a.py", "src/c.py"]
    assert world.tree(world.branch()) == {"src/c.py": "c = 1\n"}
    world.git("stash", "pop")
    [one] = world.commit()
    assert world.committed(one)["session-a"]["files_touched"] == ["src/a.py", "src/c.py"]
    assert world.open() == [] and world.streams == []


def test_the_second_of_two_verdicts_on_the_same_tip_is_void(
    world: World, a: Agent, b: Agent
) -> None:
    world.agent("session-0").turn("old work", {"README.md": MORE})
    world.git("restore", ".")
    a.prompt("one")
    b.prompt("two")
    assert (a.verdict, b.verdict) == ("reset", "reset")
    a.write("src/a.py", "a = 1\n")
    a.stop()
    b.write("src/b.py", "b = 1\n")
    b.stop()
    assert world.metadata(world.branch()) == ["session-a", "session-b"]
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}
    assert len(world.archives) == 1
    [one] = world.commit()
    assert sorted(world.committed(one)) == ["session-a", "session-b"]


def test_a_flag_does_not_reset_what_the_agents_own_commit_carried_forward(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("old work", {"README.md": MORE})
    world.git("restore", ".")
    b.prompt("two files, commit the first")
    assert b.flag()
    b.write("src/one.py", "one = 1\n")
    b.write("src/two.py", "two = 2\n")
    world.env["CLAUDE_CODE_SESSION_ID"] = "session-b"
    [one] = world.commit("src/one.py")
    del world.env["CLAUDE_CODE_SESSION_ID"]
    assert not b.flag()
    b.stop()
    assert list(world.committed(one)) == ["session-b"]
    assert world.tree(world.branch()) == {"src/two.py": "two = 2\n"}
    [two] = world.commit()
    assert list(world.committed(two)) == ["session-b"]
    assert a.state["files_touched"] == ["README.md"]


def test_a_commit_of_one_of_two_sessions_keeps_the_other_live(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("the work of a", {"README.md": MORE})
    b.turn("the work of b", {"src/app.py": "print('b')\n"})
    before = (world.path / ".git/entire-sessions/session-b.json").read_bytes()
    stream = set(world.trailer(world.branch(), "Gitcp-Stream"))
    [one] = world.commit("README.md")
    assert list(world.committed(one)) == ["session-a"]
    assert (world.path / ".git/entire-sessions/session-b.json").read_bytes() == before
    assert set(world.trailer(world.branch(), "Gitcp-Stream")) == stream, "its id stays"
    assert world.tree(world.branch()) == {"src/app.py": "print('b')\n"}
    assert world.metadata(world.branch()) == ["session-b"]
    world.write("src/app.py", "print('edited by hand')\n")
    [two] = world.commit()
    assert list(world.committed(two)) == ["session-b"], "live: the person's edit belongs to it"
    assert world.streams == []


def test_work_redone_by_hand_after_a_dismissal_does_not_link(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("the work of a", {"README.md": README + LOGIN})
    world.git("restore", ".")
    b.turn("the work of b", {"src/b.py": "b = 1\n"})
    world.write("README.md", README + "written by hand, another text\n")
    assert world.commit("README.md") == []
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-b"]
    assert world.open() == ["session-a"], "away until it expires"


def test_what_came_back_in_place_of_newer_work_links_its_own_session_alone(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("the work of a", {"README.md": MORE})
    world.git("stash")
    b.turn("the work of b", {"README.md": README + LOGIN})
    world.git("restore", ".")
    world.git("stash", "pop")
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]
    assert b.state["files_touched"] == ["README.md"]


def test_what_came_back_and_was_gone_on_from_links_both_sessions(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("work", {"README.md": README + "a line of session a\n"})
    world.git("stash")
    a.turn("other work", {"README.md": "another line of session a\n" + README})
    world.commit("README.md")
    world.git("stash", "pop")
    b.turn("go on", {"README.md": world.read("README.md") + "a line of session b\n"})
    [one] = world.commit("README.md")
    assert list(world.committed(one)) == ["session-a", "session-b"]
    assert a.state["streams"] == b.state["streams"] == [] and world.open() == []


@pytest.mark.parametrize("looked", [True, False], ids=["with a question before", "unseen"])
@pytest.mark.parametrize("who", ["session-a", "session-b"])
def test_a_hotfix_of_a_stashed_file_is_not_the_sessions_and_the_stash_links_later(
    world: World, a: Agent, b: Agent, looked: bool, who: str
) -> None:
    a.turn("work", {"README.md": "a line of session a\n" + README})
    world.git("stash")
    if looked:
        a.turn("what is this?")
    world.write("README.md", README + "a hotfix by hand\n")
    {"session-a": a, "session-b": b}[who].turn("go on", {"src/new.py": LOGIN})
    assert world.tree(world.branch())["README.md"] == README + "a hotfix by hand\n"
    [one] = world.commit()
    assert {s: m["files_touched"] for s, m in world.committed(one).items()} == {who: ["src/new.py"]}
    world.git("stash", "pop")
    [two] = world.commit()
    assert list(world.committed(two)) == ["session-a"]
    assert a.state["streams"] == [] and world.open() == []


def test_stash_keep_index_leaves_the_stashed_half_away(world: World, a: Agent) -> None:
    a.turn("two files", {"README.md": MORE, "src/app.py": "print('by the agent')\n"})
    world.git("add", "README.md")
    world.git("stash", "--keep-index")
    world.git("commit", "-q", "-m", "first half")
    [one] = world.ids("HEAD")
    assert world.committed(one)["session-a"]["files_touched"] == ["README.md"]
    assert world.streams == []
    assert len(world.archives) == 1
    world.git("checkout", "-q", "stash@{0}", "--", "src/app.py")
    [two] = world.commit("src/app.py")
    assert world.committed(two)["session-a"]["files_touched"] == ["src/app.py"]
    assert world.open() == []


@pytest.mark.parametrize("alive", [True, False])
def test_a_stream_another_session_is_working_on_is_not_reset(
    world: World, a: Agent, b: Agent, alive: bool
) -> None:
    a.turn("begin", {"src/a.py": "a = 1\n"})
    a.prompt("go on")
    if not alive:
        world.kill(a)
    world.git("clean", "-qfd")
    b.turn("the work of b", {"src/b.py": "b = 1\n"})
    assert b.verdict == "reset"
    assert len(world.archives) == (0 if alive else 1)
    assert world.metadata(world.branch()) == (["session-a"] if alive else []) + ["session-b"]


def test_an_edit_in_between_does_not_hide_that_work_came_back(
    world: World, a: Agent, b: Agent
) -> None:
    """What the tip recorded last is what is asked for, not only what the session wrote."""
    a.turn("the work of a", {"README.md": MORE})
    world.write("README.md", MORE + "and a line of the person\n")
    c = world.agent("session-c")
    c.turn("beside it", {"src/c.py": "c = 1\n"})
    (world.path / "src/c.py").unlink()
    world.git("stash")
    b.turn("the work of b", {"src/b.py": "b = 1\n"})
    (world.path / "src/b.py").unlink()
    world.git("stash", "pop")
    a.prompt("go on")
    assert a.verdict == "restore"
    a.write("README.md", MORE + "and a line of the person\nand one of the agent\n")
    a.stop()
    assert world.metadata(world.branch()) == ["session-a", "session-c"]


@pytest.mark.thorough
def test_a_lock_that_a_killed_git_left_on_a_stream_is_taken_away(world: World, a: Agent) -> None:
    a.turn("one", {"README.md": MORE})
    lock = world.path / ".git/refs/heads" / f"{world.branch()}.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    a.turn("two", {"src/a.py": "a = 1\n"})
    assert not lock.exists()
    assert len(world.trailer(world.branch(), "Entire-Session")) == 2


def test_on_an_unborn_branch_a_stream_leads_to_the_first_commit(
    world: World, a: Agent, b: Agent
) -> None:
    world.git("switch", "-q", "--orphan", "fresh")
    a.turn("one", {"src/a.py": "a = 1\n"})
    assert world.streams == ["entire/0000000-e3b0c4"]
    b.turn("two", {"src/b.py": "b = 1\n"})
    assert b.verdict == "continue"
    [one] = world.commit("src/a.py")
    assert list(world.committed(one)) == ["session-a"]
    assert world.tree(world.branch()) == {"src/b.py": "b = 1\n"}
    [two] = world.commit()
    assert list(world.committed(two)) == ["session-b"]
    assert world.streams == [] and world.open() == []
