"""Concurrent sessions, conflicts, streams whose base moved
(doc/scenarios.md "003 Sessions and strategies")."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.harness import REFUSED, Agent, World

README = "line one\nline two\nline three\n"
MORE = README + "line four of the agent\n"


def lose(world: World, *sids: str) -> None:
    """The state of a session is lost, marker and all."""
    for sid in sids:
        (world.path / ".git/entire-sessions" / f"{sid}.json").unlink()
        (world.path / ".git/gitcp/open" / sid).unlink()


def upstream(
    world: World, tmp_path: Path, path: str = "src/upstream.py", text: str = "upstream = 1\n"
) -> None:
    """Somebody else's commit that a pull will bring."""
    other = tmp_path / "upstream"
    world.git("clone", "-q", str(world.path), str(other))
    (other / path).write_text(text)
    world.git("add", ".", cwd=other)
    world.git("commit", "-q", "-m", "upstream", cwd=other)
    world.git("remote", "add", "origin", str(other))
    world.git("config", "branch.main.remote", "origin")
    world.git("config", "branch.main.merge", "refs/heads/main")


# Concurrent sessions.


def test_two_sessions_interleave_on_one_branch_each_with_its_metadata(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("one")
    a.write("src/a.py", "a = 1\n")
    b.prompt("two")
    b.write("src/b.py", "b = 1\n")
    a.stop()
    b.stop()
    a.turn("three", {"src/a.py": "a = 2\n"})
    assert world.streams == [world.branch()]
    assert world.trailer(world.branch(), "Entire-Session") == [
        "session-a",
        "session-b",
        "session-a",
    ]
    assert world.metadata(world.branch()) == ["session-a", "session-b"]
    for sid, prompt in (("session-a", "three"), ("session-b", "two")):
        at = f".entire/metadata/{sid}"
        names = world.git("ls-tree", "--name-only", f"{world.branch()}:{at}").split()
        over = ["turns"] if sid == "session-a" else []
        assert names == ["full.jsonl", "prompt.txt", "state.json", *over]
        assert prompt in world.show(world.branch(), f"{at}/prompt.txt")
        assert prompt in world.show(world.branch(), f"{at}/full.jsonl")
    [one] = world.commit()
    assert sorted(world.committed(one)) == ["session-a", "session-b"]


def test_with_tool_events_each_session_has_its_own_files(world: World, a: Agent, b: Agent) -> None:
    a.tools = b.tools = True
    a.prompt("one")
    b.prompt("two")
    a.write("src/a.py", "a = 1\n")
    b.write("src/b.py", "b = 1\n")
    world.write("src/mine.py", "by = 'hand'\n")
    a.stop()
    b.stop()
    assert a.state["files_touched"] == ["src/a.py"]
    assert b.state["files_touched"] == ["src/b.py"]
    assert sorted(world.tree(world.branch())) == ["src/a.py", "src/b.py", "src/mine.py"]


def test_a_session_that_has_touched_nothing_yet_is_not_linked_to_anothers_work(
    world: World, a: Agent, b: Agent
) -> None:
    a.tools = b.tools = True
    b.prompt("think first")
    a.prompt("one")
    a.write("src/a.py", "a = 1\n")
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]
    b.stop()
    assert world.open() == ["session-a"], "which is still in its turn"


# Conflict handling.


def test_an_orphaned_branch_is_archived_and_the_new_session_proceeds(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("old", {"README.md": MORE})
    old = world.git("rev-parse", world.branch())
    lose(world, "session-a")
    b.turn("new", {"src/b.py": "b = 1\n"})
    assert b.verdict == "reset"
    assert world.metadata(world.branch()) == ["session-b"]
    assert list(world.refs("refs/gitcp/archive").values()) == [old]


def test_an_orphan_of_the_same_session_gives_it_back_its_state(world: World, a: Agent) -> None:
    a.turn("old", {"README.md": MORE, "src/a.py": "a = 1\n"})
    before = a.state
    lose(world, "session-a")
    a.turn("go on", {"src/a.py": "a = 2\n"})
    assert a.verdict == "continue"
    assert world.archives == []
    assert a.state["files_touched"] == ["README.md", "src/a.py"]
    assert a.state["streams"][0]["id"] == before["streams"][0]["id"]
    assert a.state["checkpoint_count"] == 2
    assert [t["prompt"] for t in a.state["turns"].values()] == ["old", "go on"]


def test_a_commit_beside_an_orphan_keeps_it(world: World, a: Agent, b: Agent) -> None:
    b.turn("two", {"src/b.py": "b = 1\n"})
    a.turn("one", {"README.md": MORE})
    lose(world, "session-b")
    [one] = world.commit("README.md")
    assert list(world.committed(one)) == ["session-a"]
    assert world.streams == []
    [archive] = world.archives
    assert "src/b.py" in world.git("ls-tree", "-r", "--name-only", archive).split()


def test_a_session_active_in_another_worktree_is_refused_with_both_paths(
    world: World, a: Agent
) -> None:
    other = world.path.parent / "other"
    world.git("worktree", "add", "-q", str(other))
    a.prompt("here")
    before = a.state
    again = world.agent("session-a", cwd=other)
    again._prompts = 1
    done = again.prompt("there")
    assert done.status == REFUSED
    assert "SessionIDConflictError" in done.stderr
    assert str(world.path) in done.stderr and str(other) in done.stderr
    assert a.state == before
    private = world.path / ".git/worktrees/other/gitcp"
    names = [str(path.relative_to(private)) for path in private.rglob("*") if path.is_file()]
    assert sorted(names) == ["heard/claude-code", "watched"], "no more than that hooks run here"


@pytest.mark.parametrize("why", ["stopped", "its process died", "the same process"])
def test_a_session_that_is_not_busy_elsewhere_moves_and_says_so(
    world: World, a: Agent, why: str
) -> None:
    other = world.path.parent / "other"
    world.git("worktree", "add", "-q", str(other))
    a.turn("here", {"README.md": MORE})
    there = world.agent("session-a", cwd=other)
    if why != "stopped":
        a.prompt("and on")
    if why == "its process died":
        world.kill(a)
    if why == "the same process":
        there.pid = a.pid
    there._prompts = 2
    done = there.prompt("there")
    assert done.said.startswith(f"session 'session-a' moves from worktree '{world.path}'")
    assert str(other) in done.said
    there.write("src/there.py", "there = 1\n")
    there.stop()
    assert a.state["worktree_path"] == str(other)
    assert a.state["worktree_id"] == "other"
    assert len(world.streams) == 2, "each worktree has its own stream"
    world.git("add", ".", cwd=other)
    world.git("commit", "-q", "-m", "there", cwd=other)
    [one] = world.ids("HEAD", cwd=other)
    assert world.committed(one)["session-a"]["files_touched"] == ["src/there.py"]


def test_a_tool_that_runs_in_another_worktree_moves_nothing(world: World, a: Agent) -> None:
    other = world.path.parent / "other"
    world.git("worktree", "add", "-q", str(other))
    a.prompt("work there")
    a.event("PreToolUse", tool_name="Bash", tool_input={"command": "x"}, tool_use_id="t")
    a.cwd = other
    a.event("PostToolUse", tool_name="Bash", tool_input={"command": "x"}, tool_use_id="t")
    a.stop()
    assert a.state["worktree_path"] == str(world.path)


# Migration.


def test_stash_pull_apply_takes_the_stream_along(world: World, a: Agent, tmp_path: Path) -> None:
    a.turn("work", {"README.md": MORE})
    old = world.branch()
    tip = world.git("rev-parse", old)
    upstream(world, tmp_path)
    world.git("stash")
    world.git("pull", "-q")
    world.git("stash", "apply")
    a.turn("go on", {"src/a.py": "a = 1\n"})
    assert world.streams == [world.branch()] != [old]
    assert world.git("rev-parse", f"{world.branch()}~") == tip, "its history is kept"
    assert a.verdict == "continue"
    assert world.tree(world.branch()) == {"README.md": MORE, "src/a.py": "a = 1\n"}
    assert a.state["base_commit"] == world.head
    [one] = world.commit()
    assert world.committed(one)["session-a"]["files_touched"] == ["README.md", "src/a.py"]
    assert world.streams == [] and world.open() == []


def test_stash_pull_apply_commit_without_an_event_links_edited_work_too(
    world: World, a: Agent, tmp_path: Path
) -> None:
    a.turn("work", {"README.md": MORE})
    upstream(world, tmp_path)
    world.git("stash")
    world.git("pull", "-q")
    world.git("stash", "pop")
    world.write("README.md", "another hand\n")
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]


@pytest.mark.parametrize("event", [True, False], ids=["an event", "no event"])
def test_work_into_which_a_pull_brought_lines_is_settled_by_its_commit(
    world: World, a: Agent, tmp_path: Path, event: bool
) -> None:
    a.turn("work", {"README.md": MORE})
    upstream(world, tmp_path, "README.md", "a line from upstream\n" + README)
    world.git("pull", "-q", "--rebase", "--autostash")
    assert world.read("README.md") == "a line from upstream\n" + MORE
    if event:
        a.start("resume")
    [one] = world.commit()
    assert world.committed(one)["session-a"]["files_touched"] == ["README.md"]
    assert a.state["streams"] == [] and a.state["checkpoint_count"] == 0
    assert world.streams == [] and world.archives == [] and world.open() == []


def test_what_is_left_out_of_a_file_into_which_a_pull_brought_lines_links_later(
    world: World, a: Agent, tmp_path: Path
) -> None:
    a.turn("work", {"README.md": MORE + "line five of the agent\n"})
    upstream(world, tmp_path, "README.md", "a line from upstream\n" + README)
    world.git("pull", "-q", "--rebase", "--autostash")
    whole = world.read("README.md")
    for text in (whole.removesuffix("line five of the agent\n"), whole):
        world.write("README.md", text)
        assert a.state["files_touched"] == ["README.md"]
        [one] = world.commit()
        assert list(world.committed(one)) == ["session-a"]
    assert a.state["streams"] == [] and world.streams == [] and world.open() == []


def test_a_stream_that_was_left_behind_stays_and_is_found_again(
    world: World, a: Agent, tmp_path: Path
) -> None:
    a.turn("work", {"README.md": MORE})
    old, before = world.branch(), world.head
    upstream(world, tmp_path)
    world.git("stash")
    world.git("pull", "-q")
    a.turn("a question")
    assert world.streams == [old]
    world.write("src/hand.py", "by = 'hand'\n")
    assert world.commit("src/hand.py") == []
    assert world.streams == [old], "a commit elsewhere does not move it"
    world.write("README.md", README + "by hand\n")
    assert world.commit("README.md") == [], "nor does its path count as live there"
    world.git("switch", "-q", "--detach", before)
    world.git("stash", "pop")
    a.turn("go on", {"src/a.py": "a = 1\n"})
    assert world.streams == [old]
    assert world.metadata(old) == ["session-a"] and len(world.trailer(old, "Entire-Session")) == 2


def test_work_that_comes_back_on_another_base_brings_its_stream(
    world: World, a: Agent, b: Agent, tmp_path: Path
) -> None:
    """The session has seen the new base meanwhile: only the verdict can find the stream."""
    a.turn("work", {"README.md": MORE})
    upstream(world, tmp_path)
    world.git("stash")
    world.git("pull", "-q")
    a.turn("a question")
    world.git("stash", "pop")
    b.turn("go on", {"src/b.py": "b = 1\n"})
    assert b.verdict == "restore"
    assert world.streams == [world.branch()]
    assert world.trailer(world.branch(), "Entire-Session") == ["session-a", "session-b"]


def test_rebase_with_autostash_takes_the_stream_along(
    world: World, a: Agent, tmp_path: Path
) -> None:
    world.write("src/own.py", "own = 1\n")
    upstream(world, tmp_path)
    world.commit("src/own.py")
    a.turn("work", {"README.md": MORE})
    old = world.branch()
    world.git("pull", "-q", "--rebase", "--autostash")
    a.turn("go on", {"README.md": MORE + "line five of the agent\n"})
    assert world.streams == [world.branch()] != [old]
    assert len(world.trailer(world.branch(), "Entire-Session")) == 2


@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("taken", [True, False])
def test_switch(world: World, a: Agent, b: Agent, carried: bool, taken: bool) -> None:
    main = world.branch()
    world.git("switch", "-q", "-c", "topic")
    world.git("commit", "-q", "--allow-empty", "-m", "topic")
    topic = world.branch()
    if taken:
        b.turn("the work of b", {"src/app.py": "print('b')\n"})
        world.git("stash", "-q")
    world.git("switch", "-q", "main")
    a.turn("the work of a", {"README.md": MORE})
    tip = world.git("rev-parse", main)
    if not carried:
        world.git("stash", "-q")
    world.git("switch", "-q", "topic")
    a.turn("a question")
    if carried:
        at = {topic: "the work of b", world.archives[0]: "the work of a"} if taken else {topic: ""}
        assert world.streams == [topic], "the name of main's commit is free again"
        assert tip in world.refs("refs/").values()
        for ref, prompt in at.items():
            assert prompt.capitalize() in world.git("log", "--format=%s", ref) or not prompt
    else:
        assert world.streams == sorted([main, topic] if taken else [main])
    a.turn("go on", {"src/a.py": "a = 1\n"})
    sessions = world.trailer(topic, "Entire-Session")
    assert sessions == (["session-a", "session-a"] if carried else ["session-a"])
    [one] = world.commit()
    expected = ["README.md", "src/a.py"] if carried else ["src/a.py"]
    assert world.committed(one)["session-a"]["files_touched"] == expected


@pytest.mark.parametrize("name", ["entire/{base}", "entire/{base}-e3b0c4"])
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_branch_of_the_original_program_is_read(
    world: World, a: Agent, name: str, goes_on: bool
) -> None:
    a.turn("old", {"README.md": MORE})
    tree = world.git("rev-parse", f"{world.branch()}^{{tree}}")
    message = (
        "Old\n\nEntire-Metadata: .entire/metadata/old\nEntire-Session: old\nEntire-Strategy: shadow"
    )
    commit = world.git("commit-tree", "-m", message, tree)
    world.git("branch", "-q", "-D", world.branch())
    lose(world, "session-a")
    ref = "refs/heads/" + name.format(base=world.head[:7])
    world.git("update-ref", ref, commit)
    old = {
        "session_id": "old",
        "base_commit": world.head,
        "started_at": "2026-01-01T00:00:00Z",
        "checkpoint_count": 3,
        "condensed_transcript_lines": 4,
        "files_touched": ["README.md"],
        "phase": "active_committed",
        "worktree_path": str(world.path),
        "transcript_path": str(a.transcript),
    }
    (world.path / ".git/entire-sessions/old.json").write_text(json.dumps(old))
    world.gitcp("enable")
    assert world.open() == ["old"]
    if goes_on:
        a.turn("go on", {"src/a.py": "a = 1\n"})
        assert world.streams == [world.branch()], "it takes its present name"
        assert world.trailer(world.branch(), "Entire-Session") == ["old", "session-a"]
    [one] = world.commit()
    assert world.committed(one)["old"]["files_touched"] == ["README.md"]
    assert world.refs("refs/heads/entire") == world.refs("refs/heads/entire/checkpoints")


def test_a_branch_of_the_persons_with_such_a_name_is_never_touched(world: World, a: Agent) -> None:
    world.git("branch", world.branch())
    a.prompt("work", warns="is a branch of yours")
    a.write("README.md", MORE)
    a.stop()
    assert world.git("rev-parse", world.branch()) == world.head
