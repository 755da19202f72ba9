"""A commit of a session's lines in another form is its commit: whoever formatted them, and when."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lines.carried.authors import list_recorded, write_turn
from tests.support.clients.calls import edit
from tests.support.harness import Agent, World
from tests.support.linking import BARE, ids, noted, settled, shell, sound

# No line of it is as a formatter wants it.
UGLY = """first = compute('one', 'two', kind = 'of the first', other = 'than the one before it')
second = {'a':first_of_all,'b':second_of_all,'c':third_of_all,'d':fourth_of_all_of_them}
third = connect('a name of it',retry='several times')
fourth = connect('another name',retry='never again')
"""
# A formatter: double quotes, and an argument a line where a line is long.
SMALL = r"""
import re, sys
for path in sys.argv[1:]:
    lines = []
    for line in open(path).read().replace("'", '"').splitlines():
        line = re.sub(r" = (?=\")", "=", re.sub(r",(?=\S)", ", ", line))
        head, sign, rest = line.partition("(")
        if len(line) > 60 and sign and rest.endswith(")"):
            lines += [head + sign, *("    " + one + "," for one in rest[:-1].split(", ")), ")"]
        else:
            lines.append(line)
    open(path, "w").write("\n".join(lines) + "\n")
"""
FORMATTERS = ["small", "ruff", *(["black"] if shutil.which("black") else [])]


class Formatter:
    """A formatter: `command` formats the files that follow it."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        script = world.home / "small.py"
        script.write_text(SMALL)
        commands = {
            "small": f"{sys.executable} {script}",
            "ruff": f"{sys.executable} -m ruff format -q --isolated",
            "black": "black -q",
        }
        self.command = commands[name]

    def run(self, *paths: str, cwd: Path | None = None) -> None:
        subprocess.run([*self.command.split(), *paths], cwd=cwd or self.world.path, check=True)


@pytest.fixture(params=FORMATTERS)
def formatter(world: World, request: pytest.FixtureRequest) -> Formatter:
    return Formatter(world, request.param)


@pytest.fixture
def small(world: World) -> Formatter:
    return Formatter(world, "small")


@pytest.fixture
def a(world: World) -> Agent:
    world.write("base.py", "first = 1\n")
    world.commit()
    return world.agent("session-a", tools=True)


def is_recorded(world: World, path: str) -> bool:
    """Whether every line of a path is recorded as the session's, and none stands as it wrote it."""
    assert set(world.show("HEAD", path).splitlines()).isdisjoint(UGLY.splitlines())
    return set(list_recorded(world, path)) == {"S"}


def test_what_a_person_formats_before_the_commit(
    world: World, a: Agent, formatter: Formatter
) -> None:
    write_turn(a, "write it", b_py=UGLY)
    formatter.run("b.py")
    assert len(world.commit()) == 1
    assert is_recorded(world, "b.py")
    settled(world, a)
    sound(world)


def install(world: World, script: str) -> None:
    hook = world.path / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def test_what_a_hook_formats_and_adds(world: World, a: Agent, formatter: Formatter) -> None:
    install(world, f"{formatter.command} b.py && git add b.py")
    write_turn(a, "write it", b_py=UGLY)
    assert len(world.commit()) == 1
    assert is_recorded(world, "b.py")
    sound(world)


def test_what_a_hook_formats_and_stops_the_commit_for(
    world: World, a: Agent, small: Formatter
) -> None:
    install(world, f'grep -q "\'" b.py || exit 0\n{small.command} b.py\nexit 1')
    write_turn(a, "write it", b_py=UGLY)
    world.git("add", "b.py")
    world.git("commit", "-qm", "formatted", ok=False)
    assert len(world.commit()) == 1
    assert is_recorded(world, "b.py")
    sound(world)


def test_what_the_client_formats_after_a_call(world: World, a: Agent, small: Formatter) -> None:
    a.prompt("write it")
    edit(a, "b.py", UGLY)
    small.run("b.py")  # its own hook, which runs beside ours
    a.stop()
    assert len(world.commit()) == 1
    assert is_recorded(world, "b.py")


@pytest.mark.parametrize("tools", [False, True])
def test_what_is_committed_without_hooks(world: World, small: Formatter, tools: bool) -> None:
    a = world.agent("session-a", tools=tools)
    a.turn("write it", {"b.py": UGLY})
    small.run("b.py")
    shell(world, f"git add .; git {' '.join(BARE)} commit -qm x")
    world.agent("session-later").start()
    assert len(noted(world)) == 1
    assert is_recorded(world, "b.py")
    sound(world)


def test_what_another_branch_gets(world: World, a: Agent, small: Formatter) -> None:
    """The work is away: the file is on another base than that on which it was written."""
    write_turn(a, "write it", b_py=UGLY)
    shell(world, "git add .; git stash -q; git switch -qc other; echo x >x; git add x")
    assert world.commit() == []
    shell(world, "git stash pop -q")
    small.run("b.py")
    assert len(world.commit()) == 1
    sound(world)


def test_of_two_sessions_in_one_file_both_have_it(world: World, a: Agent, small: Formatter) -> None:
    first, second = UGLY.splitlines(keepends=True)[:2], UGLY.splitlines(keepends=True)[2:]
    world.write("b.py", "first = 1\n")
    world.commit()
    write_turn(a, "write it", b_py="".join(first) + "first = 1\n")
    b = world.agent("session-b", tools=True)
    write_turn(b, "and more", b_py="".join(first) + "first = 1\n" + "".join(second))
    small.run("b.py")
    [one] = world.commit()
    assert world.committed(one).keys() == {"session-a", "session-b"}
    sound(world)


def test_of_two_sessions_in_one_file_the_one_whose_lines_are_staged_has_the_commit(
    world: World, a: Agent, small: Formatter
) -> None:
    first, second = UGLY.splitlines(keepends=True)[:2], UGLY.splitlines(keepends=True)[2:]
    world.write("b.py", "first = 1\n")
    world.commit()
    write_turn(a, "write it", b_py="".join(first) + "first = 1\n")
    b = world.agent("session-b", tools=True)
    write_turn(b, "and more", b_py="".join(first) + "first = 1\n" + "".join(second))
    world.write("b.py", "".join(first) + "first = 1\n")
    small.run("b.py")
    [one] = world.commit()
    assert world.committed(one).keys() == {"session-a"}
    sound(world)


def test_a_commit_that_was_undone_and_is_made_again_formatted_gets_its_id(
    world: World, a: Agent, small: Formatter
) -> None:
    write_turn(a, "write it", b_py=UGLY)
    [one] = world.commit()
    world.git("reset", "-q", "HEAD~1")
    small.run("b.py")
    assert world.commit() == [one]
    sound(world)


@pytest.mark.parametrize("is_formatted_first", [False, True])
def test_a_squash_that_a_forge_made_is_linked_when_it_is_pulled(
    world: World, a: Agent, small: Formatter, tmp_path: Path, is_formatted_first: bool
) -> None:
    """A robot of the forge formatted what it squashed, or the branch was formatted and main is
    not."""
    hub, there = tmp_path / "hub.git", tmp_path / "there"
    world.git("clone", "-q", "--bare", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    world.git("config", "gitcp.push", "false")
    world.git("switch", "-qc", "feature")
    write_turn(a, "write it", b_py=UGLY)
    if is_formatted_first:
        small.run("b.py")
    [one] = world.commit()
    world.git("push", "-q", "origin", "feature", warns=".*")
    who = world.git("log", "-1", "--format=%an <%ae>")
    world.git("clone", "-q", "-b", "main", str(hub), str(there))
    (there / "b.py").write_text(UGLY)
    if not is_formatted_first:
        small.run("b.py", cwd=there)
    shell(world, f"git add .; git commit -qm squash --author='{who}'; git push -q", cwd=there)
    world.git("switch", "-q", "main")
    world.git("pull", "-q", "origin", "main", warns=".*")
    world.agent("later").start()
    assert noted(world) == [one]
    assert "wrong-note" not in world.gitcp("fsck")
    sound(world)


def test_one_line_in_another_form_by_a_colleague_is_no_evidence(
    world: World, a: Agent, small: Formatter, tmp_path: Path
) -> None:
    hub, there = tmp_path / "hub.git", tmp_path / "there"
    world.git("clone", "-q", "--bare", ".", str(hub))
    world.git("remote", "add", "origin", str(hub))
    world.git("config", "gitcp.push", "false")
    world.git("switch", "-qc", "feature")
    write_turn(a, "write it", base_py="first = 1\n" + UGLY.splitlines(keepends=True)[2])
    world.commit()
    world.git("push", "-q", "origin", "feature", warns=".*")
    world.git("clone", "-q", "-b", "main", str(hub), str(there))
    (there / "base.py").write_text("first = 1\n" + UGLY.splitlines(keepends=True)[2])
    small.run("base.py", cwd=there)
    shell(world, "git commit -qam hand --author='c <c@x>'; git push -q", cwd=there)
    world.git("switch", "-q", "main")
    world.git("pull", "-q", "origin", "main", warns=".*")
    world.agent("later").start()
    assert ids(world) + noted(world) == []


def test_lines_of_the_persons_own_beside_a_thrown_away_session_are_his(
    world: World, a: Agent, small: Formatter
) -> None:
    """Words in common in another order, or one word of several, are no line of the session's."""
    write_turn(a, "write it", b_py=UGLY)
    world.write("b.py", "second = 'of the first'\nthird = connect('yet a name', retry='twice')\n")
    assert world.commit() == []
