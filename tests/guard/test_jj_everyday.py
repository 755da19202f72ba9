"""What a person does with jj meets nothing of gitcp's, and takes no link away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.text.short_ids import shorten_id
from tests.guard.working_copies import A, Copy, call, post, pre, run
from tests.support import warm
from tests.support.harness import Agent

NewCopy = Callable[[str], Copy]
Work = tuple[Copy, Agent]
OURS = ("entire", "gitcp", "Checkpoint", "checkpoint")


@pytest.fixture(params=["colocated", "non-colocated"])
def worked(request: pytest.FixtureRequest, new_copy: NewCopy) -> Work:
    """A working copy in which a commit is linked, with a stream of what follows it."""
    copy = new_copy(request.param)
    agent, _ = copy.pair()
    agent.write("one.txt", "by A\n")
    agent.stop()
    copy.jj("commit", "-m", "one")
    agent.turn("two", {"two.txt": "by A\n"})
    return copy, agent


def links(copy: Copy) -> dict[str, bool]:
    """subject -> whether a checkpoint is behind it, of the commits up to `@-`."""
    out = warm.run("log", "--json", cwd=copy.path)
    assert out.returncode == 0, out
    commits = [json.loads(line) for line in out.stdout.splitlines()]
    return {c["message"]: bool(c["checkpoints"]) for c in commits}


def share(copy: Copy, tmp_path: Path) -> Path:
    bare = tmp_path / "bare.git"
    run(["git", "init", "-q", "--bare", str(bare)], tmp_path)
    copy.jj("git", "remote", "add", "origin", str(bare))
    return bare


def test_a_push_of_all_bookmarks_sends_the_persons_alone(worked: Work, tmp_path: Path) -> None:
    copy, _ = worked
    bare = share(copy, tmp_path)
    copy.jj("bookmark", "create", "theirs", "-r", "@-")
    copy.jj("git", "push", "--all")
    refs = run(["git", f"--git-dir={bare}", "for-each-ref", "--format=%(refname)"], tmp_path)
    assert refs.split() == ["refs/heads/theirs"]
    assert links(copy) == {"one": True, "initial": False}


@pytest.mark.parametrize(
    "revset", ["", "all()", "heads(mutable() & mine())", "visible_heads()", "bookmarks() | tags()"]
)
def test_no_revset_names_anything_of_gitcps(worked: Work, revset: str) -> None:
    copy, _ = worked
    shown = copy.jj("log", *(["-r", revset] if revset else []), "-T", "builtin_log_detailed")
    assert not [word for word in OURS if word in shown]
    template = 'commit_id ++ "\\n"'
    heads = copy.jj("log", "--no-graph", "-r", "visible_heads()", "-T", template).split()
    assert len(heads) == 1  # @


def test_bookmarks_come_move_and_go_without_a_link_or_a_stream_lost(worked: Work) -> None:
    copy, agent = worked
    for args in (
        ("create", "work", "-r", "@-"),
        ("rename", "work", "job"),
        ("set", "job", "-r", "@--", "--allow-backwards"),
        ("delete", "job"),
    ):
        copy.jj("bookmark", *args)
        agent.prompt(f"after {args[0]}")
        agent.stop()
        assert agent.state["files_touched"] == ["two.txt"]
    copy.jj("commit", "-m", "two")
    assert links(copy) == {"two": True, "one": True, "initial": False}


def work_and_forget(copy: Copy) -> Path:
    """A workspace in which a session worked, and which was forgotten."""
    there = copy.path.parent / "there"
    copy.jj("workspace", "add", str(there))
    b = copy.agent("second", there, tools=True)
    b.turn("work there", {"b.txt": "by B\n"})
    run(["jj", "--quiet", "commit", "-m", "there"], there)
    b.prompt("after it")
    copy.jj("workspace", "forget", "there")
    return there


def test_a_workspace_that_is_forgotten_takes_no_record_with_it(new_copy: NewCopy) -> None:
    copy = new_copy("non-colocated")
    there = work_and_forget(copy)
    a, _ = copy.pair()
    a.turn("here", {"a.txt": "by A\n"})
    copy.jj("new", "description(substring:'there')")
    assert links(copy)["there"]
    assert "second" in warm.run("list-sessions", cwd=copy.path).stdout
    assert warm.run("status", cwd=copy.path).returncode == 0
    run(["rm", "-rf", str(there)], copy.path)
    assert warm.run("doctor", cwd=copy.path).returncode == 0


def merge_with_conflict(copy: Copy, agent: Agent) -> None:
    """Commit the session's two.txt, and merge it with the person's."""
    copy.jj("commit", "-m", "two")
    agent.prompt("after two")
    agent.stop()
    copy.jj("new", "@--", "-m", "side")
    copy.write("two.txt", "the person's\n")
    copy.jj("new", "@", "description(exact:'two\n')", "-m", "merge")


def test_a_conflict_is_resolved_by_a_session_and_its_commit_linked(worked: Work) -> None:
    copy, agent = worked
    merge_with_conflict(copy, agent)
    assert "<<<<<<<" in (copy.path / "two.txt").read_text()
    agent.turn("resolve it", {"two.txt": "both\n"})
    assert agent.state["files_touched"] == ["two.txt"]
    copy.jj("new")
    agent.prompt("after the merge")
    found = links(copy)
    assert (found["merge"], found["side"], found["two"]) == (True, False, True)
    shown = warm.run(
        "show", copy.jj("log", "--no-graph", "-r", "@-", "-T", "commit_id"), cwd=copy.path
    )
    assert (
        shorten_id(A) in shown.stdout
        and "two.txt" in shown.stdout
        and ".jjconflict" not in shown.stdout
    )


def test_work_upon_a_commit_that_holds_a_conflict_names_no_file_of_jjs(worked: Work) -> None:
    copy, agent = worked
    merge_with_conflict(copy, agent)
    copy.jj("new", "-m", "above")
    agent.turn("go on", {"three.txt": "by A\n"})
    assert agent.state["files_touched"] == ["three.txt"]
    copy.jj("new")
    agent.prompt("next")
    found, above = links(copy), copy.jj("log", "--no-graph", "-r", "@-", "-T", "commit_id")
    # An older jj keeps nothing at its own path in a commit that holds a conflict.
    names = run(["git", f"--git-dir={copy.store}", "ls-tree", "--name-only", above], copy.path)
    assert (found["above"], found["merge"]) == ("three.txt" in names.split(), False)
    assert ".jjconflict" not in warm.run("status", cwd=copy.path).stdout


HEADS = "heads(mutable() & mine())"


def operations(copy: Copy) -> list[str]:
    """What jj says of its operations, the newest first, without taking a snapshot."""
    form = 'description.first_line() ++ "\\n"'
    argv = ("--ignore-working-copy", "op", "log", "--no-graph", "-T", form)
    return copy.jj(*argv).splitlines()


def heads(copy: Copy) -> str:
    return copy.jj("log", "--no-graph", "-r", HEADS, "-T", 'description ++ "\\n"')


@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
def test_no_operation_of_a_whole_session_is_gitcps(new_copy: NewCopy, kind: str) -> None:
    copy = new_copy(kind)
    a, b = copy.pair()
    copy.jj("status")
    before = operations(copy)
    a.write("a.txt", "by A\n")
    pre(b, "b.txt")
    b.write("b.txt", "by B\n")
    post(b, "b.txt")
    call(b, "PreToolUse", "git status", tool="Bash")
    call(b, "PostToolUse", "git status", tool="Bash", tool_response={})
    a.stop()
    b.stop()
    a.prompt("more")
    a.write("a.txt", "by A\nmore\n")
    a.stop()
    for name in ("status", "list-streams", "log", "doctor"):
        warm.run(name, cwd=copy.path)
    assert operations(copy) == before
    copy.jj("commit", "-m", "both")
    a.prompt("after the commit")
    a.stop()
    warm.run("rewind", "--list", cwd=copy.path)
    a.end()
    copy.jj("status")
    made = operations(copy)[: len(operations(copy)) - len(before)]
    assert [line for line in made if not line.startswith(("snapshot", "commit "))] == []
    assert "entire" not in copy.jj("bookmark", "list", "--all-remotes")
    assert heads(copy) == "\n"  # the change at @
    copy.jj("undo")
    copy.jj("undo")
    assert copy.ref("refs/entire/checkpoints") and not copy.ref("refs/heads/entire")


def test_streams_that_were_bookmarks_leave_jj_at_the_next_prompt(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    copy.set("gitcp.streams-hidden", "false")
    a, _ = copy.pair()
    a.write("a.txt", "by A\n")
    a.stop()
    assert "entire/" in copy.jj("bookmark", "list")
    copy.git("config", "--unset", "gitcp.streams-hidden")
    a.prompt("go on")
    assert "entire/" not in copy.jj("bookmark", "list")
    assert copy.ref("refs/gitcp/streams") and heads(copy).count("\n") <= 2
    before = operations(copy)
    a.write("b.txt", "by A\n")
    a.stop()
    assert operations(copy) == before
    copy.jj("commit", "-m", "both")
    a.prompt("next")
    assert not a.state.get("files_touched")


@pytest.mark.parametrize("command", [["stage", "--session", A], ["split", "--no-edit"]])
def test_a_part_is_staged_and_committed_only_where_git_is(worked: Work, command: list[str]) -> None:
    copy, _ = worked
    before = copy.jj("status")
    out = warm.run(*command, cwd=copy.path)
    if copy.kind == "colocated":
        assert out.returncode == 0, out
        undone = warm.run("undo", cwd=copy.path)
        assert undone.returncode == 0, undone
    else:
        assert (out.returncode, out.stderr) == (
            128,
            "fatal: jj has no index here: 'jj split <path>' divides its working copy\n",
        )
    assert copy.jj("status") == before
