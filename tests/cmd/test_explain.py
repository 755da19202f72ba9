"""gitcp-explain: what is behind a commit, a checkpoint or a session."""

from __future__ import annotations

import pytest

from tests.rewind.going import done, run, temporary
from tests.support.harness import Agent, World


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("11111111-aaaa-4a87-9186-848bdd83d62e")


def test_a_commit_its_checkpoint_and_its_session_tell_the_same(world: World, a: Agent) -> None:
    a.turn("Please write one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    told = done(world, "explain", "HEAD")
    for name in (checkpoint, checkpoint[:6]):
        assert done(world, "explain", name) == told
        assert done(world, "explain", "--checkpoint", name) == told
    assert told == done(world, "explain", "--commit", "HEAD")
    assert told == done(world, "explain", "--session", a.sid)
    for line in (
        f"Checkpoint: {checkpoint}",
        f"Session: {a.sid}",
        "Author: A U Thor",
        "Intent: Please write one",
        "Files: (1)\n  a.py",
        f"Commits: (1)\n  {world.head[:7]} 2005-04-01 commit\n",
        "Transcript (checkpoint scope):\n    [User] Please write one",
    ):
        assert line in told


def test_what_was_said_is_left_out_or_told_in_full_or_raw(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    world.commit()
    a.turn("two", {"b.py": "1\n"})
    world.commit()
    assert "Transcript" not in done(world, "explain", "--short", "HEAD")
    assert "[User] one" not in done(world, "explain", "HEAD")
    full = done(world, "explain", "--full", "HEAD")
    assert "Transcript (full session):\n    [User] one" in full
    raw = done(world, "explain", "--raw-transcript", "HEAD")
    assert raw == done(world, "show", "--transcript", "HEAD")


def test_a_temporary_checkpoint_is_told_too(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    point = temporary(world)[0]
    told = done(world, "explain", point[:10])
    assert told.startswith(f"Checkpoint: {point[:12]} [temporary]\nSession: {a.sid}\n")
    assert "Intent: one\nFiles: (1)\n  a.py\n" in told


def test_without_a_name_the_checkpoints_of_the_branch_are_listed(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    a.turn("two", {"b.py": "1\n"})
    told = done(world, "explain").splitlines()
    assert told[:2] == ["Branch: main", "Checkpoints: 2"]
    assert f'[{checkpoint}] "one"' in told
    assert f'[{temporary(world)[0][:12]}] [temporary] "two"' in told


def test_what_excludes_each_other_is_misuse(world: World) -> None:
    for args in (
        ("HEAD", "--commit", "HEAD"),
        ("--short", "--full"),
        ("-c", "a", "--session", "b"),
    ):
        assert run(world, "explain", *args).returncode == 129
    ended = run(world, "explain", "HEAD")
    assert (ended.returncode, "no session is behind it" in ended.stderr) == (128, True)


def test_show_tells_a_session_turn_by_turn(world: World, a: Agent) -> None:
    a.turn("write one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    a.turn("write two", {"b.py": "1\n", "a.py": None})
    told = done(world, "show", a.sid).split("Checkpoints:\n")[1].splitlines()
    # git's dates stand still here and the clock does not: the order of the two is not the point
    starts = [n for n, line in enumerate(told) if line.startswith("    ") and line[4] != " "]
    parts = {told[n].split()[0]: [t.strip() for t in told[n + 1 :]] for n in starts}
    (name,) = [oid for oid in parts if temporary(world)[0].startswith(oid)]
    assert parts[checkpoint][:2] == ["write one", "a.py"]
    assert parts[name][:3] == ["write two", "D a.py", "A b.py"]
