"""Auto-commit killed at a step of its own: the next event settles it, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.steps.auto.hooks_and_checks import hook, sound
from tests.support.harness import Agent, World
from tests.support.paths import ENTRY

# At which call of git the hook dies: what its arguments hold, before or after git did it.
STEPS = [
    ("read-tree", "before"),
    ("hook run --ignore-missing pre-commit", "after"),
    ("commit-tree", "before"),
    ("commit-tree", "after"),
    ("/next-index -C", "after"),
    ("update-ref -m commit", "before"),
    ("update-ref -m commit", "after"),
    ("hook run --ignore-missing post-commit", "before"),
]
EVENTS = ("its own prompt", "another session's")
# What settles is the same whoever comes: each step meets one of them, in the long form both.
CASES = [
    (*step, event)
    for number, step in enumerate(STEPS)
    for event in (EVENTS if os.environ.get("LONG") else [EVENTS[number % 2]])
]
WRAPPER = """#!/bin/sh
case "${{GIT_INDEX_FILE-}} $*" in
*"{what}"*)
	if [ ! -e {once} ]; then
		: >{once}
		[ {when} = before ] || {git} "$@" </dev/stdin >/dev/null 2>&1
		kill -9 $PPID
		exit 1
	fi ;;
esac
exec {git} "$@"
"""


def killed_at(world: World, agent: Agent, what: str, when: str) -> None:
    """The agent's Stop, killed once at that call of git."""
    folder, git = world.home / "bin", shutil.which("git")
    folder.mkdir()
    once = world.home / "killed"
    (folder / "git").write_text(WRAPPER.format(what=what, when=when, once=once, git=git))
    (folder / "git").chmod(0o755)
    stop_and_die(agent, {"PATH": f"{folder}:{os.environ['PATH']}"})
    assert once.exists(), "no such step"


def stop_and_die(agent: Agent, env: dict[str, str]) -> None:
    payload = {
        "session_id": agent.sid,
        "transcript_path": str(agent.transcript),
        "cwd": str(agent.cwd),
        "hook_event_name": "Stop",
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRY), "claude-code", "Stop"],
        cwd=agent.cwd,
        env={**os.environ, **env, "CLAUDE_PID": str(agent.pid)},
        input=json.dumps(payload),
        capture_output=True,
        text=True,
    )
    assert done.returncode == -9, done


def files(world: World) -> dict[str, bytes]:
    paths = [p for p in Path(world.path).rglob("*") if p.is_file() and ".git" not in p.parts]
    return {str(p): p.read_bytes() for p in paths}


@pytest.mark.parametrize(("what", "when", "event"), CASES)
def test_killed_at_this_step_the_next_event_settles_it(
    auto: World, what: str, when: str, event: str
) -> None:
    auto.write("README.md", "staged\n")
    auto.git("add", "README.md")
    auto.write("README.md", "staged\nand more\n")
    hook(auto, "pre-commit", "exit 0")
    before, a = auto.head, auto.agent("session-a", tools=True)
    a.prompt("add a")
    a.write("a.txt", "a\n")
    mine = files(auto)
    killed_at(auto, a, what, when)
    other = auto.agent("session-b", tools=True)
    (a if event == "its own prompt" else other).prompt("go on")
    assert files(auto) == mine
    staged = auto.git("show", ":README.md")
    assert staged == "staged"
    sound(auto)
    stands = auto.head != before
    assert stands is ((what, when) in STEPS[-2:])
    if stands:
        [one] = auto.ids("HEAD")
        assert auto.committed(one)["session-a"]["strategy"] == "auto-commit"
        assert auto.git("status", "--porcelain") == "MM README.md"
    a.write("b.txt", "b\n")
    a.stop()
    log = auto.git("log", "--format=", "--name-only", f"{before}..HEAD").split()
    assert sorted(log) == ["a.txt", "b.txt"]
    assert auto.git("status", "--porcelain") == "MM README.md"
    sound(auto)


def test_killed_while_a_hook_hides_the_persons_work_it_is_put_back(auto: World) -> None:
    auto.write("README.md", "half done\n")
    kill = "kill -9 $(ps -o ppid= -p $PPID)"
    once = f"[ -e $HOME/once ] || {{ touch $HOME/once; git checkout -q -- .; {kill}; }}"
    hook(auto, "pre-commit", once)
    a = auto.agent("session-a", tools=True)
    a.prompt("add a")
    a.write("src/app.py", "print('new')\n")
    stop_and_die(a, {"HOME": str(auto.home)})
    assert auto.read("README.md") == "line one\nline two\nline three\n"
    auto.agent("session-b").prompt("look")
    assert auto.read("README.md") == "half done\n"
    assert auto.read("src/app.py") == "print('new')\n"
    sound(auto)


def test_a_stored_commit_that_lacks_something_is_set_aside_once(auto: World) -> None:
    """It stops no later event: whether its commit stands is seen as of any other."""
    folder = auto.path / ".git/gitcp/auto"
    folder.mkdir()
    (folder / "intent").write_text('{"session_id": "session-a", "dirty": {}, "entries": {}}')
    agent = auto.agent("session-a")
    agent.prompt("go on", warns="auto/intent")
    assert not folder.exists()
    [kept] = (auto.path / ".git/gitcp/corrupt").iterdir()
    assert kept.name.startswith("intent.")
    agent.stop()
