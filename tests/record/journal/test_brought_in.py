"""What git brings in through an agent's shell keeps its authors, whatever brings it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.record.journal.lines import text
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import ids, sessions, sound

LONG = bool(os.environ.get("LONG"))
WRITERS = ["the person's", "a colleague's session's"]
BASE, MOVED, FEAT = text(1, 2, 3), text(0, 1, 2, 3), text(1, 2, 3, 4, 5)


def write(world: World, files: dict[str, str], message: str) -> None:
    """A commit of the person's."""
    for path, content in files.items():
        world.write(path, content)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", message)


def story(world: World, linked: bool, moved: bool) -> None:
    """main with f.txt, and feat with two lines more, made in a worktree of its own by the person,
    or by a session whose commit is linked; moved: main has changed the file since."""
    write(world, {"f.txt": BASE}, "base")
    world.git("worktree", "add", "-q", "-b", "feat", "../wt")
    there = world.path.parent / "wt"
    agent = world.agent("session-b", cwd=there, tools=True)
    if linked:
        agent.prompt("feature")
    for path, content in {"f.txt": FEAT, "g.txt": text(6, 7)}.items():
        if linked:
            edit(agent, path, content)
        else:
            (there / path).write_text(content)
    if linked:
        agent.stop()
    assert bool(world.commit(cwd=there)) == linked
    if moved:
        write(world, {"f.txt": MOVED}, "moved")


def added(world: World, agent: Agent) -> dict[str, int]:
    """Whose lines HEAD adds, as its checkpoint of a session's has it; {} without one."""
    stored = [sessions(world, one) for one in ids(world)]
    told = [one[agent.sid]["initial_attribution"] for one in stored if agent.sid in one]
    return {who: n for one in told for who, n in one["lines_added"].items() if n}


# command -> how many lines of feat it brings in, where main has not moved, and where it has
WHOLE = {
    "git checkout feat -- f.txt": (2, 2),
    "git restore --source feat -- f.txt": (2, 2),
    "git restore --source=feat f.txt": (2, 2),
    "git cat-file -p feat:f.txt >f.txt": (2, 2),
    "git cherry-pick -n feat": (4, 4),
    "git merge --squash feat": (4, 4),
    "git diff main...feat | git apply -3": (4, 4),
    "git diff main...feat | patch -p1 --no-backup-if-mismatch": (4, 4),
    "git format-patch -1 --stdout feat >../x.diff; git apply -3 ../x.diff": (4, 4),
    "git checkout -p feat -- f.txt </dev/null; git checkout feat f.txt": (2, 2),
    "cp ../wt/f.txt f.txt": (2, 2),
    "cp ../wt/g.txt h.txt": (2, 2),
    "git show feat:g.txt >h.txt": (2, 2),
    "git show feat:g.txt >>f.txt": (2, 2),
    "git read-tree -m -u feat": (4, 4),
}


@pytest.mark.thorough
@pytest.mark.parametrize("moved", [False, True] if LONG else [True])
@pytest.mark.parametrize("writer", WRITERS if LONG else WRITERS[1:])
@pytest.mark.parametrize("command", WHOLE)
def test_lines_that_an_agents_command_brings_from_a_branch_keep_their_authors(
    world: World, a: Agent, command: str, writer: str, moved: bool
) -> None:
    story(world, writer != "the person's", moved)
    a.prompt("bring it in")
    run(a, command)
    a.stop()
    world.commit()
    lines = WHOLE[command][moved]
    who = added(world, a)
    assert "agent" not in who
    assert sum(who.values()) == lines
    assert writer == "the person's" or who == {"others": lines}
    sound(world)


@pytest.mark.parametrize("writer", WRITERS if LONG else WRITERS[1:])
@pytest.mark.parametrize(
    "command",
    [
        "git cherry-pick -n feat && git commit -qm picked",
        "git merge -q --squash feat && git commit -qm squashed",
        "git checkout feat -- f.txt && git commit -qm taken",
        "git show feat:f.txt >f.txt; git commit -qam shown",
    ],
)
def test_lines_that_an_agents_command_brings_in_and_commits_keep_their_authors(
    world: World, a: Agent, command: str, writer: str
) -> None:
    story(world, writer != "the person's", moved=True)
    a.prompt("bring it in and commit it")
    run(a, command)
    who = added(world, a)
    a.stop()
    assert "agent" not in who
    assert writer == "the person's" or list(who) == ["others"]
    sound(world)


def test_what_a_command_brings_in_and_what_it_adds_itself_are_told_apart(
    world: World, a: Agent
) -> None:
    story(world, linked=True, moved=True)
    a.prompt("bring it in, and a line more")
    run(a, "git checkout feat -- f.txt; echo 'the line that the agent adds' >>f.txt")
    a.stop()
    world.commit()
    assert added(world, a) == {"others": 2, "agent": 1}


# Content that was here before: what the person does first, the agent's command, lines it brings.
def stash(world: World) -> None:
    world.write("f.txt", FEAT)
    world.git("stash", "-q")


def stash_below(world: World) -> None:
    stash(world)
    write(world, {"f.txt": MOVED}, "moved")


def stash_untracked(world: World) -> None:
    world.write("new.txt", text(4, 5))
    world.git("stash", "-q", "-u")


def take_out(world: World) -> None:
    write(world, {"f.txt": FEAT}, "more")
    write(world, {"f.txt": BASE}, "less")


def take_out_below(world: World) -> None:
    take_out(world)
    write(world, {"f.txt": MOVED}, "moved")


def patch_file(world: World) -> None:
    world.write("f.txt", FEAT)
    (world.path.parent / "fix.diff").write_text(world.git("diff") + "\n")
    world.git("checkout", "-q", "f.txt")


def patch_below(world: World) -> None:
    patch_file(world)
    write(world, {"f.txt": MOVED}, "moved")


HERE: dict[str, tuple[Callable[[World], None], str]] = {
    "a stash": (stash, "git stash pop"),
    "a stash that is dropped": (stash, "git stash apply; git stash drop"),
    "a stash, merged": (stash_below, "git stash pop"),
    "a stash of a new file": (stash_untracked, "git stash pop"),
    "a stash, branched": (stash_below, "git stash branch away"),
    "a stash, shown": (stash_below, "git stash show -p | git apply --3way"),
    "a revert": (take_out, "git revert -n HEAD"),
    "a revert, merged": (take_out_below, "git revert -n HEAD~1"),
    "an old version": (take_out, "git checkout HEAD~1 -- f.txt"),
    "an old version, shown": (take_out, "git show HEAD^:f.txt >f.txt"),
    "an old version that the command asks for": (
        take_out_below,
        "git checkout $(git log --format=%h -1 --skip=2) -- f.txt",
    ),
    "an old version by its name": (take_out_below, "git checkout $(git rev-parse HEAD~2) -- f.txt"),
    "a diff of the person's": (patch_file, "git apply ../fix.diff"),
    "a diff of the person's, merged": (
        patch_below,
        "patch -p1 --no-backup-if-mismatch <../fix.diff",
    ),
}


@pytest.mark.parametrize("looked", [True, False] if LONG else [False])
@pytest.mark.parametrize("what", HERE)
def test_lines_that_an_agents_command_brings_back_are_not_the_agents(
    world: World, what: str, looked: bool
) -> None:
    begin, command = HERE[what]
    if looked:
        early = world.agent("session-early", tools=True)
        early.start()
        early.turn("look round")
    write(world, {"f.txt": BASE}, "base")
    begin(world)
    a = world.agent("session-a", tools=True)
    a.prompt("bring it back")
    run(a, command)
    edit(a, "own.txt", text(9))
    a.stop()
    world.commit()
    who = added(world, a)
    assert who.pop("agent") == 1
    assert sum(who.values()) == 2
    sound(world)


# command -> the lines that are the agent's of those that come to be, beside those of others
OWN = {
    "printf 'a line of its own\\n' >n.txt; git diff >/dev/null": (1, 0),
    "cat >n.txt <<'EOF'\nthe first of its lines\nthe second of its lines\nEOF": (2, 0),
    "cat >../own.diff <<'EOF'\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+of a patch of its own\n"
    "EOF\ngit apply ../own.diff": (1, 0),
    "git show feat:f.txt >/dev/null; printf 'a line of its own\\n' >>f.txt": (1, 0),
    "cp README.md n.txt": (0, 3),
    "cp mine.txt n.txt": (0, 2),
    "cat mine.txt README.md >n.txt": (0, 5),
    "cp ../wt/dirty.txt n.txt": (0, 2),
    "cp late.txt n.txt": (0, 2),
    "cp its.txt n.txt": (2, 0),
    "printf 'a line of its own\n' >late.txt; cp late.txt n.txt": (1, 0),
}


@pytest.mark.parametrize("command", OWN)
def test_what_a_command_makes_is_the_agents_and_what_it_copies_is_not(
    world: World, command: str
) -> None:
    story(world, linked=False, moved=True)
    (world.path.parent / "wt" / "dirty.txt").write_text(text(8, 9))
    world.write("mine.txt", text(10, 11))
    a = world.agent("session-a", tools=True)
    a.prompt("make it")
    edit(a, "its.txt", text(13, 14))
    world.write("late.txt", text(15, 16))
    run(a, command)
    edit(a, "own.txt", text(12))
    a.stop()
    world.git("add", "--", *[p for p in ("n.txt", "f.txt", "own.txt") if (world.path / p).exists()])
    world.git("commit", "-qm", "made")
    who = added(world, a)
    own = who.pop("agent") - 1
    assert (own, sum(who.values())) == OWN[command]


def test_a_diff_that_one_command_makes_and_a_later_one_applies_keeps_its_authors(
    world: World, a: Agent
) -> None:
    story(world, linked=True, moved=True)
    a.prompt("bring it in")
    run(a, "git diff main...feat >../x.diff")
    run(a, "git status")
    run(a, "git apply -3 ../x.diff")
    a.stop()
    world.commit()
    assert added(world, a) == {"others": 4}
