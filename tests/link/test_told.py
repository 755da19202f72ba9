"""After a commit, a person at a terminal is told in one line what was linked."""

from __future__ import annotations

import os
import pty
import subprocess
import threading

import pytest

from gitcp.text.short_ids import shorten_id
from tests.support.harness import Agent, World

SHOW = "; 'gitcp show HEAD'"
TAKEN_BACK = "git commit -m x 2>err; git reset -q --hard HEAD~"


def at_terminal(world: World, script: str, **env: str) -> list[str]:
    """The lines on the terminal of gitcp's that a shell's commands print to standard error."""
    master, slave = pty.openpty()
    seen = bytearray()

    def read() -> None:
        try:
            while data := os.read(master, 65536):
                seen.extend(data)
        except OSError:  # the last writer has closed it
            pass

    reader = threading.Thread(target=read)
    reader.start()
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    every = {**inherited, **world.env, "GIT_EDITOR": "true", **env}
    command = ["sh", "-ec", script]
    out = subprocess.DEVNULL
    done = subprocess.run(command, cwd=world.path, env=every, stdout=out, stderr=slave, check=False)
    os.close(slave)
    reader.join()
    os.close(master)
    lines = seen.decode().splitlines()
    assert done.returncode == 0, lines
    return [line for line in lines if "linked: " in line]


def test_a_commit_tells_its_session_its_prompts_and_its_lines(world: World, a: Agent) -> None:
    a.turn("write one", {"one.py": "one\ntwo\n"})
    a.turn("write two", {"two.py": "three\n"})
    world.write("one.py", "one\ntwo\nmine\n")
    said = at_terminal(world, "git add . && git commit -m x")
    assert said == [f"linked: Claude Code {shorten_id(a.sid)}, 2 prompts, 3 of 4 lines{SHOW}"]


def test_several_sessions_are_told_by_the_one_with_the_most_lines(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("little", {"one.py": "one\n"})
    b.turn("more", {"two.py": "1\n2\n3\n"})
    said = at_terminal(world, "git add . && git commit -m x")
    assert said == [
        f"linked: Claude Code {shorten_id(b.sid)} and 1 other, 2 prompts, 4 of 4 lines{SHOW}"
    ]


def test_a_commit_that_only_removes_lines_tells_no_number_of_them(world: World, a: Agent) -> None:
    world.write("old.py", "one\n")
    world.commit()
    a.turn("remove", {"old.py": None})
    said = at_terminal(world, "git add -A && git commit -m x")
    assert said == [f"linked: Claude Code {shorten_id(a.sid)}, 1 prompt{SHOW}"]


@pytest.mark.parametrize(
    "script",
    [
        "git commit -qm x",
        "git commit -m x 2>err",
        "CI=true git commit -m x",
        "git -c gitcp.say=false commit -m x",
        f"{TAKEN_BACK}; git cherry-pick HEAD@{{1}}",
        f"{TAKEN_BACK}; git format-patch -1 --stdout HEAD@{{1}} | git am",
        "git commit -m x 2>err; git commit -qm y --allow-empty; "
        "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/reword/' git rebase -i --no-ff HEAD~2",
    ],
)
def test_nothing_is_told_where_nobody_asked_for_it(world: World, a: Agent, script: str) -> None:
    a.turn("write", {"one.py": "one\n"})
    world.git("add", "one.py")
    assert at_terminal(world, script) == []
    assert world.ids("HEAD") or world.ids("HEAD~"), "it is linked all the same"


def test_an_agent_that_commits_is_told_nothing(world: World, a: Agent) -> None:
    a.prompt("write and commit")
    a.write("one.py", "one\n")
    world.git("add", "one.py")
    assert at_terminal(world, "git commit -m x", CLAUDE_CODE_SESSION_ID=a.sid) == []
    assert world.ids("HEAD")
