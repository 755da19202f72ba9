"""A commit of two sessions that is made again in parts: each part is of its own sessions."""

from __future__ import annotations

import json

import pytest

from tests.lines.carried.authors import write_turn
from tests.support.harness import World
from tests.support.linking import editor, ids, shell, sound

LINES = "".join(f"line_{n} = 'there before {n}'\n" for n in range(20))
FIRST = LINES.replace("line_3 = 'there before 3'", "line_3 = 'the first session wrote it'")
BOTH = FIRST.replace("line_15 = 'there before 15'", "line_15 = 'the second session wrote it'")


@pytest.fixture
def one(world: World) -> str:
    """A commit of session-a's a.py, session-b's b.py and lines of both in f.py; its id."""
    world.write("f.py", LINES)
    world.commit()
    a = world.agent("session-a", tools=True)
    b = world.agent("session-b", tools=True)
    write_turn(a, "write it", a_py="first = 'of the first session'\n", f_py=FIRST)
    write_turn(b, "write it too", b_py="second = 'of the second session'\n", f_py=BOTH)
    [one] = world.commit()
    assert world.committed(one).keys() == {"session-a", "session-b"}
    return one


def list_sessions(world: World, commit: str = "HEAD") -> list[str]:
    """The sessions of a commit, as log says."""
    record = json.loads(world.gitcp("log", "--json", "-1", commit))
    return sorted(s for c in record["checkpoints"] for s in c["sessions"])


def test_the_whole_is_of_both(world: World, one: str) -> None:
    assert list_sessions(world) == ["session-a", "session-b"]
    world.git("commit", "-q", "--amend", "-m", "in other words")
    assert list_sessions(world) == ["session-a", "session-b"]
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-qm", "again")
    assert list_sessions(world) == ["session-a", "session-b"]


@pytest.mark.parametrize("how", ["--soft", "--mixed"])
def test_files_of_each(world: World, one: str, how: str) -> None:
    world.git("reset", "-q", how, "HEAD~1")
    world.git("reset", "-q")
    for path, session in (("a.py", "session-a"), ("b.py", "session-b")):
        world.git("add", path)
        world.git("commit", "-qm", path)
        assert ids(world) == [one]
        assert list_sessions(world) == [session]
    assert world.commit() == [one]
    assert list_sessions(world) == ["session-a", "session-b"]
    sound(world)


def test_lines_of_each_in_one_file(world: World, one: str) -> None:
    world.git("reset", "-q", "HEAD~1")
    shell(world, "git add a.py b.py; git commit -qm files")
    (world.home / "staged").write_text(FIRST)  # as `add -p` does
    oid = world.git("hash-object", "-w", str(world.home / "staged"))
    shell(world, f"git update-index --cacheinfo 100644,{oid},f.py; git commit -qm first")
    assert list_sessions(world) == ["session-a"]
    assert world.commit() == [one]
    assert list_sessions(world) == ["session-b"]
    assert list_sessions(world, "HEAD~2") == ["session-a", "session-b"]
    sound(world)


def test_a_rebase_that_splits_the_commit(world: World, one: str) -> None:
    world.env["GIT_SEQUENCE_EDITOR"] = editor(world, 'sed -i "1s/^pick/edit/" "$1"')
    world.git("rebase", "-q", "-i", "HEAD~1")
    world.git("reset", "-q", "HEAD~1")
    shell(world, "git add a.py; git commit -qm a; git add b.py; git commit -qm b")
    shell(world, "git add .; git commit -qm f; git rebase --continue")
    told = [list_sessions(world, commit) for commit in ("HEAD~2", "HEAD~1", "HEAD")]
    assert told == [["session-a"], ["session-b"], ["session-a", "session-b"]]
    sound(world)


def test_a_pick_of_a_part(world: World, one: str) -> None:
    whole = world.head
    world.git("switch", "-qc", "other", "HEAD~1")
    shell(world, f"git cherry-pick -n {whole}; git reset -q f.py b.py; git commit -qm a")
    assert ids(world) == [one]
    assert list_sessions(world) == ["session-a"]
