"""A line whose form alone was changed keeps its author, whoever changed it and when, and the commit
its link."""

from __future__ import annotations

import pytest

from tests.lines.carried.authors import format_files, list_recorded, tell, write_turn
from tests.support.clients.calls import begin, edit, end
from tests.support.harness import Agent, World
from tests.support.linking import ids, sound

BASE = "name = 'the first'\n"
UGLY = """import sys, os
name = 'the first'
d = ['aa', 'bb']  # delta
echo = compute(first_argument_of_it, second_argument_of_it, third_argument_of_it, fourth_of_it)
kept = as_it_was_typed(1)
"""
KEPT = "kept = as_it_was_typed(1)\nstays = as_it_was_typed(2)\n"
# What a formatter makes of it: two imports, a blank line of its own, the person's name, d, three
# lines of echo, kept.
FORMATTED = "SSPPSSSSS"


@pytest.fixture
def a(world: World) -> Agent:
    world.write("a.py", BASE)
    world.commit()
    return world.agent("session-a", tools=True)


STORIES = {
    "words of a letter": ("d = {'a':1, 'b':2}\n", 'd = {"a": 1, "b": 2}\n', "S"),
    "wrapped": (
        "echo = compute(first, second, third)\n",
        "echo = compute(\n    first,\n    second,\n    third,\n)\n",
        "SSSSS",
    ),
    "wrapped and edited": (
        "echo = compute(first, second, third)\n",
        "echo = compute(\n    first,\n    other,\n    third,\n)\n",
        "SSPPP",
    ),
    "another number": ("timeout = connect(5)\n", "timeout = connect(6)\n", "P"),
    "another sign": ("if limit < maximum:\n", "if limit <= maximum:\n", "P"),
    "called": ("handler = make_handler\n", "handler = make_handler()\n", "P"),
    "sorted imports": (
        "from pkg import zeta, alpha, beta\n",
        "from pkg import alpha, beta, zeta\n",
        "S",
    ),
    "exported": (
        "from .core import Group\n",
        "from .core import Group as Group\n",
        "P",
    ),
    "quote and line": (
        "one = load('a')\ntwo = load('b')\nthree = load('c')\n",
        "one = load(\"a\")\ntwo = load('b')\nthree = load('c')\nextra = 1\n",
        "SSSP",
    ),
}


@pytest.mark.parametrize(("wrote", "became", "told"), STORIES.values(), ids=list(STORIES))
def test_what_a_person_makes_of_a_line_before_its_commit(
    world: World, a: Agent, wrote: str, became: str, told: str
) -> None:
    write_turn(a, "write it", b_py=wrote + KEPT)
    world.write("b.py", became + KEPT)
    world.commit()
    assert tell(world, "b.py") == list_recorded(world, "b.py") == told + "SS"
    sound(world)


@pytest.mark.parametrize(("wrote", "became", "told"), STORIES.values(), ids=list(STORIES))
def test_what_a_person_makes_of_a_line_in_a_later_commit(
    world: World, a: Agent, wrote: str, became: str, told: str
) -> None:
    write_turn(a, "write it", b_py=wrote)
    world.commit()
    world.write("b.py", became)
    world.commit()
    assert tell(world, "b.py") == told


def test_a_session_that_writes_a_file_anew_leaves_the_persons_lines_to_him(
    world: World, a: Agent
) -> None:
    world.write("b.py", "total = price * count + tax\nname = 'the_name_of_it'\n")
    world.commit()
    write_turn(a, "write it", b_py='total = price*count+tax\nname = "the_name_of_it"\nmore = 1\n')
    world.commit()
    assert tell(world, "b.py") == "PPS"


def test_a_formatter_that_the_person_runs_takes_no_line(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=UGLY)
    format_files(world, "a.py")
    assert 'd = ["aa", "bb"]  # delta' in world.read("a.py")
    [checkpoint] = world.commit()
    assert checkpoint in world.checkpoints()
    assert tell(world, "a.py") == FORMATTED, world.read("a.py")
    sound(world)


def test_a_formatter_that_runs_as_a_hook_of_git_takes_no_line(world: World, a: Agent) -> None:
    hook = world.path / ".git/hooks/pre-commit"
    hook.write_text('#!/bin/sh\nsed -i "s/\'/\\"/g" a.py && git add a.py\n')
    hook.chmod(0o755)
    write_turn(a, "write it", a_py=UGLY)
    [checkpoint] = world.commit()
    assert checkpoint in world.checkpoints()
    assert '["aa", "bb"]' in world.show("HEAD", "a.py")
    assert tell(world, "a.py") == "SPSSS"
    sound(world)


def test_a_formatter_that_stops_the_commit_takes_no_line(world: World, a: Agent) -> None:
    """As pre-commit does: it changes the file, and the person adds it and commits again."""
    hook = world.path / ".git/hooks/pre-commit"
    hook.write_text('#!/bin/sh\ngrep -q "\'" a.py || exit 0\nsed -i "s/\'/\\"/g" a.py\nexit 1\n')
    hook.chmod(0o755)
    write_turn(a, "write it", a_py=UGLY)
    world.git("add", "a.py")
    world.git("commit", "-qm", "formatted", ok=False)
    [checkpoint] = world.commit()
    assert checkpoint in world.checkpoints()
    assert tell(world, "a.py") == "SPSSS"
    sound(world)


def test_a_formatter_that_the_client_runs_after_a_call_takes_no_line(
    world: World, a: Agent
) -> None:
    a.prompt("write it")
    edit(a, "a.py", UGLY)
    format_files(world, "a.py")  # its own hook, which runs beside ours
    a.stop()
    assert ids(world) == [] and world.commit()
    assert tell(world, "a.py") == FORMATTED, world.read("a.py")


def test_a_formatter_that_a_person_runs_in_a_later_commit_takes_no_line(
    world: World, a: Agent
) -> None:
    write_turn(a, "write it", a_py=UGLY)
    world.commit()
    format_files(world, "a.py")
    world.commit()
    assert tell(world, "a.py") == FORMATTED, world.read("a.py")


def test_a_formatter_that_another_session_runs_takes_no_line(world: World, a: Agent) -> None:
    write_turn(a, "write it", a_py=UGLY)
    b = world.agent("session-b", tools=True)
    b.prompt("format it")
    call = begin(b, "Bash", command="ruff format a.py")
    format_files(world, "a.py")
    end(b, call)
    b.stop()
    world.commit()
    assert tell(world, "a.py").replace("T", "P") == FORMATTED, world.read("a.py")
