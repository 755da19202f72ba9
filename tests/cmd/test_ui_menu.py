"""The menu of the browser: each action shows its plan, asks, and comes back; in a real tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp.extras.ui.panes import PaneRow, list_actions
from tests.support.harness import World
from tests.support.paths import BIN
from tests.support.story import SESSION

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")
LONGEST = 60  # seconds
ASKED = "Run it?  Only 'yes' does:"


def test_a_prompt_and_a_call_are_meant_alone_and_a_session_as_a_whole() -> None:
    row = PaneRow("s1", "", [], "", (), {"turns": {2: "t2"}})
    for about, rewind, stage in (
        ({"number": 2, "parts": []}, ["--turn", "t2"], ["--turn", "t2"]),
        ({"kind": "call", "ids": ["c1", "c2"]}, ["--tool", "c1"], ["--call", "c1"]),
        ({"number": 9}, ["--session", "s1"], []),
        (None, ["--session", "s1"], []),
    ):
        part = about and PaneRow("p", "", [], "", (), about)
        first, second, *others = list_actions("sessions", row, part or None)
        assert first.command == ("rewind", *rewind) and first.plan[-1] == "--dry-run"
        assert second.command == ("stage", "--session", "s1", *stage)
        assert [one.command[:1] or one.copied for one in others] == [
            ("resume",),
            ("page",),
            ("undo",),
            "s1",
        ]


def test_a_point_and_a_commit_are_gone_back_to_and_bisected_from() -> None:
    row = PaneRow("abc", "", [], "", (), {"checkpoints": ["c0ffee123456"]})
    other = row._replace(item={"checkpoints": []})
    assert {one.command[:1] for one in list_actions("commits", other, None)} == {
        ("bisect",), ("page",), ("undo",), ()
    }  # fmt: skip
    points, commits = (list_actions(name, row, None) for name in ("points", "commits"))
    assert points[0].command == ("rewind", "--to", "abc")
    assert points[1].command == ("bisect", "abc", "--", "sh", "-c") and points[1].asks
    assert {one.label for one in points} < {one.label for one in commits}
    assert [one.label for one in list_actions("points", None, None)] == [
        "undo what gitcp changed last"
    ]


class Tmux:
    """A tmux of the test's own, with a shell in a repository."""

    def __init__(self, world: World, tmp_path: Path, term: str) -> None:
        self._socket, self._world = tmp_path / "tmux", world
        env = {**os.environ, **world.env, "LC_ALL": "C.UTF-8"}
        env.pop("TMUX", None)
        config = tmp_path / "tmux.conf"
        config.write_text(f"set -g default-terminal {term}\nset -sg escape-time 0\n")
        args = ("-f", str(config), "new-session", "-d", "-x", "110", "-y", "30")
        self._run(*args, "-c", str(world.path), "bash --norc --noprofile", env=env)

    def _run(self, *args: str, env: dict[str, str] | None = None) -> str:
        argv = ["tmux", "-S", str(self._socket), *args]
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout

    @property
    def text(self) -> str:
        return self._run("capture-pane", "-p")

    def type(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def say(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        self._run("set-buffer", text)
        self._run("paste-buffer", "-p", "-r")

    def wait(self, *wanted: str) -> None:
        """Wait until all these texts are on the screen."""
        self.wait_for(lambda: all(one in self.text for one in wanted))

    def answer(self, question: str, words: str) -> None:
        """Type words when the last line is a question; earlier ones may still be seen."""
        self.wait_for(lambda: self.text.rstrip().endswith(question))
        self.say(words)
        self.type("Enter")

    def wait_for(self, seen: Callable[[], bool]) -> None:
        """Wait until it is so."""
        ends = time.monotonic() + LONGEST
        while not seen():
            assert time.monotonic() < ends, self.text
            time.sleep(0.05)

    def browse(self, *args: str) -> None:
        self.say(shlex.join([sys.executable, str(BIN / "gitcp"), "ui", *args]))
        self.type("Enter")

    def list_processes(self) -> list[int]:
        """The processes that the shell has started: the browser."""
        pane = self._run("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", pane], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def close(self) -> None:
        self._run("kill-server")


@pytest.fixture(params=["screen"])
def tmux(world: World, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Tmux]:
    world.agent(SESSION, tools=True).turn("Please add hello", {"hello.txt": "hello\n"})
    running = Tmux(world, tmp_path, request.param)
    yield running
    running.close()


@pytest.mark.thorough
@needs_tmux
@pytest.mark.parametrize("tmux", ["screen", "vt100"], indirect=True)
def test_the_plan_is_shown_and_only_yes_runs_it_and_the_browser_comes_back(
    world: World, tmux: Tmux
) -> None:
    tmux.browse()
    tmux.wait("Please add hello", ": actions")
    tmux.type(":")
    tmux.wait("> take back the session's edits", "copy the id", "Enter shows the plan and asks")
    tmux.type("Enter")
    tmux.wait("--dry-run", "hello.txt")
    tmux.answer(ASKED, "y")
    tmux.wait("nothing was done", "[1 sessions]")
    assert world.read("hello.txt") == "hello\n"
    tmux.type(":")
    tmux.wait("> take back")
    tmux.type("Enter")
    tmux.answer(ASKED, "yes")
    tmux.answer("Enter goes back:", "")
    tmux.wait("done: gitcp rewind", "[1 sessions]")
    assert not (world.path / "hello.txt").exists()
    tmux.type(":", "G", "k")
    tmux.wait("> undo what gitcp changed last")
    tmux.type("Enter")
    tmux.answer(ASKED, "yes")
    tmux.answer("Enter goes back:", "")
    tmux.wait("done: gitcp undo", "[1 sessions]")
    assert world.read("hello.txt") == "hello\n"
    tmux.type("q")
    tmux.wait_for(lambda: not tmux.list_processes())
    tmux.say("echo still-$((40 + 2))")
    tmux.type("Enter")
    tmux.wait("still-42")


@needs_tmux
def test_a_paste_does_nothing_and_what_came_before_the_question_is_no_answer(
    world: World, tmux: Tmux
) -> None:
    tmux.browse()
    tmux.wait("Please add hello", ": actions")
    tmux.paste(":\ryes\ryes\r")
    tmux.wait("pasted text is not a key")
    tmux.type(":")
    tmux.wait("> take back")
    tmux.type("Enter", "y", "e", "s", "Enter", "y", "e", "s", "Enter")
    tmux.answer(ASKED, "")
    tmux.wait("nothing was done", "[1 sessions]")
    assert world.read("hello.txt") == "hello\n"


@needs_tmux
def test_a_kill_at_the_question_changes_nothing_and_leaves_a_shell(
    world: World, tmux: Tmux
) -> None:
    tmux.browse()
    tmux.wait("Please add hello", ": actions")
    tmux.type(":")
    tmux.wait("> take back")
    tmux.type("Enter")
    tmux.wait(ASKED)
    os.kill(tmux.list_processes()[0], signal.SIGKILL)
    tmux.wait("Killed")
    tmux.say("echo still-$((40 + 2))")
    tmux.type("Enter")
    tmux.wait("still-42")
    assert world.read("hello.txt") == "hello\n" and world.gitcp("fsck") == ""
    tmux.browse("commits")
    tmux.wait("[2 commits]", "$ gitcp log -1")  # a row is there
    tmux.type(":", "G")
    tmux.wait("> copy the id")
    tmux.type("Enter")
    tmux.wait(f"copied, if the terminal has a clipboard: {world.head}")
