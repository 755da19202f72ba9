"""What jj shows a person has nothing of gitcp's in it: no operation, no bookmark, no head."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.guard.working_copies import Copy, call, post, pre
from tests.support import warm

NewCopy = Callable[[str], Copy]
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
