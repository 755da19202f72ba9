"""Auto-commit by several sessions in one worktree: each turn is its own commit, or says why not."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.steps.auto.hooks_and_checks import hook, sound
from tests.support.harness import Agent, World

LONG = bool(os.environ.get("LONG"))


@pytest.mark.parametrize("number", range(8 if LONG else 2))
def test_two_sessions_that_stop_at_once_make_a_commit_each(auto: World, number: int) -> None:
    hook(auto, "pre-commit", "sleep 0.1")
    pair = [auto.agent(sid, tools=True) for sid in ("session-a", "session-b")]
    for agent in pair:
        agent.prompt(f"work of {agent.sid}")
        agent.write(f"{agent.sid}.txt", f"{agent.sid}\n")
    with ThreadPoolExecutor(2) as pool:
        for call in pool.map(Agent.stop, pair):
            assert call.said == ""
    rows = auto.git("log", "-2", "--format=%s", "--name-only").split("\n\n")
    commits = auto.git("rev-list", "-2", "HEAD").split()
    assert len(rows) >= 2
    for commit in commits:
        name = auto.git("show", "--format=", "--name-only", commit)
        sid = name.removesuffix(".txt")
        assert auto.git("log", "-1", "--format=%s", commit) == f"Work of {sid}"
        [one] = auto.ids(commit)
        assert list(auto.committed(one)) == [sid]
    assert auto.git("status", "--porcelain") == ""
    assert (auto.streams, auto.open()) == ([], [])
    sound(auto)


def test_a_session_that_looks_while_hooks_format_takes_nothing_for_the_persons(
    auto: World,
) -> None:
    """Each of two runs of the formatter is seen before it is over, by another session's prompt."""
    a, b = (auto.agent(sid, tools=True) for sid in ("session-a", "session-b"))
    b.turn("b's part", {"b.txt": "b\n"})
    move = "unset GIT_INDEX_FILE; git commit -q --no-verify --allow-empty -m theirs"
    wait = "touch $HOME/in$n; until [ -e $HOME/out$n ]; do sleep 0.02; done"
    run = f"echo '#' >>a.py; {wait}; [ $n = 2 ] || {{ {move}; }}"
    hook(auto, "pre-commit", f"[ -e $HOME/out1 ] && n=2 || n=1; [ -e $HOME/out2 ] || {{ {run}; }}")
    a.prompt("a's part")
    a.write("a.py", "a = 1\n")
    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(a.stop)
        for n in (1, 2):
            while not (auto.home / f"in{n}").exists():
                assert not stopped.done()
                time.sleep(0.02)
            b.prompt(f"look {n}")
            (auto.home / f"out{n}").touch()
        assert stopped.result().said == ""
    a.turn("more", {"a.py": auto.read("a.py") + "b = 1\n"})
    assert auto.show("HEAD", "a.py") == "a = 1\n#\n#\nb = 1\n"


def test_a_file_that_another_session_works_on_is_not_committed(auto: World) -> None:
    a, b = (auto.agent(sid, tools=True) for sid in ("session-a", "session-b"))
    both = "line one\nline two\nline three\nby a\n"
    a.prompt("a's part")
    b.prompt("b's part")
    a.write("README.md", both)
    b.write("README.md", both + "by b\n")
    before = auto.head
    assert "'README.md' holds changes that are not the session's" in a.stop().said
    assert "'README.md' holds changes that are not the session's" in b.stop().said
    assert auto.head == before
    assert auto.tree(auto.branch()) == {"README.md": both + "by b\n"}
    [one] = auto.commit("README.md")
    assert sorted(auto.committed(one)) == ["session-a", "session-b"]


def test_what_waits_because_another_session_works_on_it_is_said_in_every_later_turn(
    auto: World,
) -> None:
    """Two sessions on different lines of one file: no turn passes it over in silence."""
    a, b = (auto.agent(sid, tools=True) for sid in ("session-a", "session-b"))
    a.prompt("a's part")
    b.prompt("b's part")
    a.write("README.md", "by a\nline two\nline three\n")
    b.write("README.md", "by a\nline two\nby b\n")
    waits = "'README.md' holds changes that are not the session's"
    assert waits in a.stop().said and waits in b.stop().said
    for files in ({"a.txt": "a\n"}, {}, {"a.txt": "a\na\n"}, {"b.txt": "b\n"}):
        a.prompt("go on")
        for path, text in files.items():
            a.write(path, text)
        assert a.stop().said == f"gitcp: not committed yet: {waits}"
    assert auto.git("log", "-3", "--format=", "--name-only").split() == ["b.txt", "a.txt", "a.txt"]
    assert auto.git("status", "--porcelain") == " M README.md"
    auto.commit("README.md")
    b.prompt("go on")
    assert b.stop().said == ""


def test_the_persons_own_lines_in_a_file_keep_it_from_being_committed(auto: World) -> None:
    auto.write("README.md", "the person's line\nline two\nline three\n")
    before, a = auto.head, auto.agent("session-a", tools=True)
    a.prompt("work")
    a.write("README.md", "the person's line\nline two\nline three\nby the agent\n")
    a.write("a.txt", "a\n")
    assert "'README.md' holds changes that are not the session's" in a.stop().said
    assert auto.head == before
    a.prompt("more")
    a.write("b.txt", "b\n")
    assert "not committed yet: 'README.md' holds changes" in a.stop().said
    assert auto.git("show", "--format=", "--name-only", "HEAD").split() == ["a.txt", "b.txt"]
    assert auto.git("status", "--porcelain") == " M README.md"


def test_streams_of_todos_and_compactions_are_settled_by_the_commit(auto: World) -> None:
    a = auto.agent("session-a", tools=True)
    a.prompt("a list")
    for number in range(3):
        a.write(f"{number}.txt", "x\n")
        todos = {"todos": [{"content": "x", "status": "completed"}]}
        call = {"tool_name": "TodoWrite", "tool_use_id": f"toolu_t{number}"}
        a.event("PostToolUse", "", **call, tool_input=todos, tool_response={})
    a.event("PreCompact", trigger="auto", custom_instructions="")
    assert len(auto.streams) == 1
    a.stop()
    assert auto.git("show", "--format=", "--name-only", "HEAD").split() == [
        "0.txt",
        "1.txt",
        "2.txt",
    ]
    assert (auto.streams, auto.open(), auto.archives) == ([], [], [])
