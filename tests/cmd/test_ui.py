"""The browser at a terminal: what it shows of a repository, and that it ends as it should."""

from __future__ import annotations

import os
import signal

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from gitcp.cmd.extras import ui
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.terminal import browser
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate
from tests.support.frozen import Frozen
from tests.support.harness import World
from tests.support.story import ALPHA, SESSION, tell
from tests.support.terminal import Screen
from tests.support.warm import run


def test_sessions_commits_and_points_are_looked_at_down_to_a_patch(world: World) -> None:
    story = tell(world)
    with Screen(world, ["ui"], 150) as screen:
        screen.wait("Review the tests")
        assert "working Claude Code" in screen.text
        screen.type("/Please add\r", f"$ gitcp show {shorten_id(ALPHA)}")
        screen.wait("#2")
        screen.type("\r/add hello\r", "+hello")
        screen.type("2", "$ gitcp log -1")
        screen.type("j", f"$ gitcp show {abbreviate(story.linked)}")
        screen.type("\rj", f"session {shorten_id(ALPHA)}")
        screen.type("j", "+there")
        screen.type("3", "$ gitcp rewind --to")
        screen.wait("going there")
        screen.type("q")
        assert screen.ended() == 0


@pytest.mark.parametrize("columns", [80, 150])
def test_the_tabs_stand_in_the_first_row_while_a_long_store_is_read(
    large_store: Frozen, columns: int
) -> None:
    """What is read is shown as it comes: nothing is counted before the first rows."""
    home = large_store.path.parent / f"home-{columns}"
    home.mkdir(exist_ok=True)
    world = World(large_store.path, home)
    heads: list[str] = []

    def is_read(screen: Screen) -> bool:
        heads.append(screen.rows[0])
        return "> Write file 99" in screen.text and "+2 OpenCode" in screen.text

    with Screen(world, ["ui"], columns) as screen:
        screen.wait_for(lambda: is_read(screen))
        assert "said: Done." in screen.text and "+def call_99():" in screen.text
        assert screen.rows[-2] == f"$ gitcp show {shorten_id(large_store.sessions[-1])}"
        screen.type("G", "> Write file 0")
        heads.append(screen.rows[0])
        screen.type("q")
        assert screen.ended() == 0
    drawn = [head for head in heads if head]
    assert drawn and all(head.startswith("[1 sessions] 2 commits  3 points ") for head in drawn)


def test_what_is_marked_is_told_at_once_with_prompt_words_and_change(world: World) -> None:
    agent = world.agent(SESSION, tools=True)
    agent.turn("Write one\nand no more", {"one.py": "print(1)\n"})
    with Screen(world, ["ui"], 80) as screen:
        screen.wait("+print(1)")
        for text in ("> Write one", "  and no more", "prompt 1 of 1", "said: done", "b/one.py"):
            assert text in screen.text, text
        assert screen.rows[-1] == (
            "j k move  Enter open  / search  f filter  z zoom  : actions  ? keys  q leave"
        )
        screen.type("q")
        assert screen.ended() == 0


def test_a_call_of_a_session_at_work_appears_and_its_patch(world: World) -> None:
    agent = world.agent("11111111-aaaa-4a87-9186-848bdd83d62e", tools=True)
    agent.prompt("write one")
    with Screen(world, ["ui"], 150) as screen:
        screen.wait("#1")
        agent.write("one.py", "print(1)\n")
        screen.wait("Write one.py")
        screen.wait("+print(1)")
        screen.type("q")
        assert screen.ended() == 0


def test_a_terminal_that_changes_its_size_is_drawn_anew(world: World) -> None:
    world.agent(SESSION).prompt("Review the tests")
    with Screen(world, ["ui"], 150) as screen:
        screen.wait("Review the tests")
        screen.resize(40)
        screen.wait_for(lambda: screen.rows[-1].startswith("j k move") and "…" in screen.rows[-1])
        assert all(len(row) <= 40 for row in screen.rows)
        screen.type("q")
        assert screen.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(world: World, number: int) -> None:
    world.agent(SESSION).prompt("Review the tests")
    with Screen(world, ["ui"], 80) as screen:
        screen.wait("Review the tests")
        os.kill(screen.pid, number)
        assert screen.ended() == -number
        assert "\x1b[?1049l" in screen.raw


def test_without_a_terminal_it_names_commands_that_need_none(world: World) -> None:
    done = run("ui", cwd=world.path)
    assert done.returncode == 128
    assert "'gitcp log' and 'gitcp sessions' need none" in done.stderr


def test_keys_of_the_toolkit_go_through_the_lists_and_a_paste_does_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the toolkit's own input and output."""
    monkeypatch.chdir(world.path)
    world.agent(SESSION).turn("Please add hello", {"hello.txt": "hello\n"})
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("2jjGg/own\r1\x1b[200~q\x1b[201~3jq")
        with Objects(Repo.find_here()):
            screen = ui.Screen(Repo.find_here(), "sessions")
            assert browser.run_screen(screen) == "quit"
            while screen.load():
                pass
    assert screen.command[:3] == ["gitcp", "rewind", "--to"]
