"""gitcp undo of several stages at once."""

from __future__ import annotations

from tests.steps.rewind.going import done, run
from tests.support.harness import World

LINES = [f"{number}\n" for number in range(1, 10)]


def test_two_stages_of_one_file_are_undone_together_and_redone(world: World) -> None:
    world.write("a.txt", "".join(LINES))
    world.commit("a.txt")
    world.agent("s1-one").turn("two", {"a.txt": "".join([*LINES[:1], "two\n", *LINES[2:]])})
    both = "".join([*LINES[:1], "two\n", *LINES[2:7], "eight\n", *LINES[8:]])
    world.agent("s2-two").turn("eight", {"a.txt": both, "new.txt": "new\n"})
    before = world.git("ls-files", "-s")
    done(world, "stage", "--session", "s1-one")
    first = world.git("ls-files", "-s")
    done(world, "stage", "--session", "s2-two")
    staged = world.git("ls-files", "-s")
    assert len({before, first, staged}) == 3
    done(world, "undo", "2")
    assert world.git("ls-files", "-s") == before
    done(world, "redo")
    assert world.git("ls-files", "-s") == first
    done(world, "redo")
    assert world.git("ls-files", "-s") == staged
    world.write("other.txt", "mine\n")
    world.git("add", "other.txt")
    done(world, "undo", "2")
    assert world.git("ls-files", "-s", "a.txt", "new.txt") == before.splitlines()[1]
    assert world.git("ls-files", "other.txt") == "other.txt"


def test_what_was_staged_in_between_is_not_lost(world: World) -> None:
    world.agent("s1-one").turn("one", {"a.txt": "a\n"})
    world.agent("s2-two").turn("two", {"b.txt": "b\n"})
    done(world, "stage", "--session", "s1-one")
    world.write("a.txt", "a\nmine\n")
    world.git("add", "a.txt")
    done(world, "stage", "--session", "s2-two")
    ended = run(world, "undo", "2")
    assert ended.returncode == 128 and "changed since" in ended.stderr
    assert world.git("ls-files", "a.txt", "b.txt") == "a.txt\nb.txt"
