"""Files of every kind link from the turn to v1; sessions that had no part cost nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git import traced
from tests.support.clients import calls
from tests.support.harness import Agent, World
from tests.support.linking import ids, linked, sessions, settled, shell, sound

CODE = "def add(a, b):\n    return a + b\n"


def put(name: bytes, data: bytes = CODE.encode()) -> Callable[[Path], None]:
    def act(top: Path) -> None:
        path = os.path.join(os.fsencode(top), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)

    return act


def run(script: str) -> Callable[[Path], None]:
    def act(top: Path) -> None:
        assert os.system(f"cd '{top}' && {script}") == 0

    return act


# before the turn (committed), what the agent does, files_touched of the commit
KINDS: dict[str, tuple[str, Callable[[Path], None], list[str]]] = {
    "a name that is not UTF-8": (":", put(b"gr\xf6\xdfe.txt"), ["gr\udcf6\udcdfe.txt"]),
    "a name that is not ASCII": (":", put("größe.txt".encode()), ["größe.txt"]),
    "spaces, quotes and newlines": (":", put(b'a "b"\n c\t.txt'), ['a "b"\n c\t.txt']),
    "a name like an option": (":", put(b"-m"), ["-m"]),
    "a name like a pathspec": (":", put(b":(top)*.py"), [":(top)*.py"]),
    "deep": (":", put(b"a/b/c/d/e/f.py"), ["a/b/c/d/e/f.py"]),
    "a binary file": (":", put(b"b.bin", bytes(range(256)) * 9), ["b.bin"]),
    "a changed binary file": (
        "printf '\\0\\1' >b.bin",
        put(b"b.bin", bytes(range(256))),
        ["b.bin"],
    ),
    "an empty file": (":", put(b"empty", b""), ["empty"]),
    "a deletion": (":", run("rm README.md"), ["README.md"]),
    "a mode": (":", run("chmod +x README.md"), ["README.md"]),
    "a new executable": (":", run("printf 'echo hello world\\n' >x; chmod +x x"), ["x"]),
    "a symlink": (":", run("ln -s README.md link"), ["link"]),
    "a changed symlink": ("ln -s README.md l", run("ln -sfn src l"), ["l"]),
    "a file that becomes a symlink": (":", run("ln -sf src README.md"), ["README.md"]),
    "a symlink that becomes a file": (
        "ln -s README.md l",
        run("rm l; echo the content >l"),
        ["l"],
    ),
    "a file that becomes a directory": (
        ":",
        run("rm README.md; mkdir README.md; echo inside of it >README.md/x"),
        ["README.md", "README.md/x"],
    ),
    "a rename": (":", run("mv README.md READ.md"), ["READ.md", "README.md"]),
    "a rename with a change": (
        ":",
        run("git mv README.md READ.md; echo more and more >>READ.md"),
        ["READ.md", "README.md"],
    ),
    "carriage returns": (
        "git config core.autocrlf true",
        put(b"dos.txt", b"the first line\r\nthe second line\r\n"),
        ["dos.txt"],
    ),
    "a clean filter": (
        "git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >.gitattributes",
        put(b"x.up", b"shout this out loud\n"),
        ["x.up"],
    ),
    "a changed file under a clean filter": (
        "git config filter.up.clean 'tr a-z A-Z'; echo '*.up filter=up' >.gitattributes;"
        " echo some words >x.up",
        put(b"x.up", b"some words\nshout this out loud\n"),
        ["x.up"],
    ),
    "an encoding": (
        "echo '*.t working-tree-encoding=UTF-16LE' >.gitattributes",
        put(b"x.t", "the words of the agent\n".encode("utf-16-le")),
        ["x.t"],
    ),
    "ignored, added with force": ("echo '*.log' >.gitignore", put(b"x.log"), []),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_change_is_linked(world: World, a: Agent, name: str) -> None:
    before, act, want = KINDS[name]
    shell(world, f"{before}; git add -A; git commit -q --allow-empty -m before")
    base = world.head
    a.prompt("do it")
    a.ran("./do-it")
    act(world.path)
    a.stop()
    shell(world, "git add -A -f; git commit -q -m it")
    if not want:
        assert ids(world) == []
        return
    [one] = ids(world)
    found = sessions(world, one)["session-a"]
    names = found["files_touched"]
    assert [os.fsencode(_text(n)) for n in names] == [os.fsencode(n) for n in want]
    assert [len(told) for told in linked(world, base)] == [1]
    settled(world, a)
    assert world.streams == [] and world.archives == []
    sound(world)


def _text(name: object) -> str:
    """A name as stored; one that is not UTF-8 is an object or has surrogates."""
    if isinstance(name, dict):
        import base64

        return os.fsdecode(base64.b64decode(name["$bytes"]))
    return str(name)


@pytest.mark.parametrize(
    ("act", "script"),
    [
        pytest.param(put(b"n.py"), "git add n.py; git mv n.py m.py", id="moved before the commit"),
        pytest.param(put(b"n.py"), "mkdir d; mv n.py d/n.py; git add d", id="moved by hand"),
        pytest.param(
            put(b"n.py"), "mv n.py m.py; echo '# mine' >>m.py; git add m.py", id="moved and edited"
        ),
        pytest.param(put(b"n.py"), "chmod +x n.py; git add n.py", id="made executable"),
    ],
)
def test_what_the_person_does_to_a_new_file_does_not_unlink_it(
    world: World, a: Agent, act: Callable[[Path], None], script: str
) -> None:
    a.prompt("do it")
    a.ran("./do-it")
    act(world.path)
    a.stop()
    shell(world, f"{script}; git commit -q -m it")
    assert len(ids(world)) == 1
    settled(world, a)
    sound(world)


@pytest.mark.parametrize("by", ["the person", "another session"])
def test_a_new_file_that_is_moved_and_committed_before_the_turns_end_is_linked(
    world: World, by: str
) -> None:
    a, b = (world.agent(f"session-{name}", tools=True) for name in "ab")
    a.prompt("do it")
    b.prompt("move it")
    a.write("n.py", CODE)
    if by == "the person":
        shell(world, "mv n.py m.py")
    else:
        calls.run(b, "mv n.py m.py")
    [one] = world.commit("m.py")
    assert sessions(world, one)["session-a"]["files_touched"] == ["m.py"]
    a.stop()
    b.stop()
    assert "files_touched" not in a.state, "it is committed, under its new name"
    assert world.streams == [] and world.open() == []
    sound(world)


def test_what_the_person_took_out_before_the_commit_is_away_then(world: World, a: Agent) -> None:
    lines = [f"the_number_of_it = {n}\n" for n in range(4)]
    written, own = "".join(lines), "".join(["# a header of my own\n", *lines[1:]])
    a.turn("do it", {"n.py": written})
    world.write("n.py", own)
    assert len(world.commit("n.py")) == 1
    assert a.state["files_touched"] == ["n.py"], "as recorded it was never committed"
    assert world.streams == [] and len(world.archives) == 1
    world.write("n.py", own + "# and a line of my own\n")
    assert world.commit("n.py") == [], "by evidence only"
    world.write("n.py", written)
    assert len(world.commit("n.py")) == 1, "the recorded content itself"
    settled(world, a)
    sound(world)


def test_a_submodule_that_the_agent_moves_is_linked(world: World, a: Agent) -> None:
    shell(
        world,
        "git init -q -b main ../sub; git -C ../sub commit -q --allow-empty -m one;"
        " git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub",
    )
    a.prompt("move the submodule")
    a.ran("git -C sub commit -m two")
    shell(world, "git -C sub commit -q --allow-empty -m two")
    a.stop()
    [one] = world.commit("sub")
    assert sessions(world, one)["session-a"]["files_touched"] == ["sub"]
    settled(world, a)


def test_the_first_commit_of_a_repository_is_linked(world: World, a: Agent) -> None:
    world.git("checkout", "-q", "--orphan", "fresh")
    world.git("rm", "-rfq", ".")
    a.turn("begin", {"a.py": CODE})
    [one] = world.commit("a.py")
    assert sessions(world, one)["session-a"]["files_touched"] == ["a.py"]
    assert world.git("rev-list", "--count", "HEAD") == "1"
    settled(world, a)
    sound(world)


# Stale sessions.


def crowd(world: World, number: int, phase: str) -> None:
    """Copies of a session that has work open elsewhere in the tree: old, idle or ended."""
    common = world.path / ".git"
    state = json.loads((common / "entire-sessions" / "session-old.json").read_text())
    marker = json.loads((common / "gitcp" / "open" / "session-old").read_text())
    for n in range(number):
        sid = f"stale-{n:03d}"
        for told in (state, marker):
            told["session_id"], told["phase"] = sid, phase
        (common / "entire-sessions" / f"{sid}.json").write_text(json.dumps(state))
        (common / "gitcp" / "open" / sid).write_text(json.dumps(marker))


def commit(world: World, trace: Path) -> tuple[list[str], list[str]]:
    """The ids of a commit of new.py, and the git processes of its hooks."""
    world.env["GITCP_TRACE"] = str(trace)
    made = world.commit("new.py")
    del world.env["GITCP_TRACE"]
    return made, [line.partition(" -C ")[0] for line in traced.processes(trace)]


@pytest.mark.parametrize("phase", ["idle", "ended"])
def test_a_hundred_stale_sessions_change_nothing_about_a_commit(world: World, phase: str) -> None:
    old = world.agent("session-old")
    old.turn("long ago", {"old.py": CODE})
    a = world.agent("session-a")
    a.turn("now", {"new.py": CODE + "# new\n"})
    alone = World(Path(shutil.copytree(world.path, world.path.parent / "alone")), world.home)
    for path in ("entire-sessions", "gitcp/open"):
        for file in (alone.path / ".git" / path).iterdir():
            file.write_text(file.read_text().replace(str(world.path), str(alone.path)))
    crowd(world, 100, phase)
    before = {p.name: p.read_bytes() for p in (world.path / ".git/entire-sessions").iterdir()}
    [one], processes = commit(world, world.home / "crowd")
    [_], few = commit(alone, world.home / "alone")
    assert processes == few, "not one process more"
    assert list(sessions(world, one)) == ["session-a"]
    after = {p.name: p.read_bytes() for p in (world.path / ".git/entire-sessions").iterdir()}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"session-a.json"}, "no bystander's state is written"
    assert len(world.open()) == 101
    sound(world)
