"""undo and redo show what they are about to move, and ask where there is somebody to ask."""

from __future__ import annotations

import json

import pytest

from tests.steps.rewind.going import done, files, run, temporary
from tests.support.harness import Agent, World
from tests.support.terminal import talk


@pytest.fixture
def rewound(world: World, a: Agent) -> World:
    """a.py was written twice, and the second writing is rewound."""
    a.turn("write one", {"a.py": "1\n"})
    a.turn("write two", {"a.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[1])
    return world


def read_step(world: World) -> str:
    """Kind and reason of the newest step."""
    step = json.loads(done(world, "undo", "--list", "--json").splitlines()[-1])
    return f"{step['kind']}: {step['reason']}"


def test_undo_shows_the_step_its_age_and_the_commits_since_and_asks(rewound: World) -> None:
    step, before = read_step(rewound), files(rewound.path)
    rewound.git("commit", "-q", "--allow-empty", "-m", "one thing")
    rewound.git("commit", "-q", "--allow-empty", "-m", "another thing")
    newest = rewound.git("log", "-1", "--format=%h %s")
    seen = talk(rewound, ["undo"], ("undo it? [y/N]", "\n"))
    assert seen.startswith("change  a.py"), seen
    assert (
        f"\r\nundo {step}  just now\r\nnote: 2 commits since, the newest {newest}\r\nundo" in seen
    )
    assert seen.endswith("nothing changed\r\n") and files(rewound.path) == before
    seen = talk(rewound, ["undo"], ("undo it? [y/N]", "y\n"))
    assert seen.endswith(f"undone: {step} (changed 1). 'gitcp redo' repeats it\r\n")
    assert rewound.read("a.py") == "2\n"
    seen = talk(rewound, ["redo"])
    assert f"\r\nredo {step}  just now\r\n" in seen and "[y/N]" not in seen
    assert seen.endswith("'gitcp undo' takes it back\r\n")
    assert files(rewound.path) == before


def test_undo_of_several_steps_shows_each_and_its_consent_can_be_given_before(
    rewound: World,
) -> None:
    one = read_step(rewound)
    done(rewound, "rewind", "--to", temporary(rewound)[0])
    other = read_step(rewound)
    assert "[y/N]" not in talk(rewound, ["undo", "--json", "-n", "2"])
    seen = talk(rewound, ["undo", "--yes", "2"])
    assert f"undo {other}  just now\r\nundo {one}  just now\r\nundone: " in seen, seen
    assert "[y/N]" not in seen and "commits since" not in seen
    assert rewound.read("a.py") == "2\n"


def test_a_step_that_changed_no_file_is_asked_about_too(world: World, a: Agent) -> None:
    a.turn("write one", {"a.py": "1\n"})
    done(world, "stage", "--session", a.sid)
    seen = talk(world, ["undo"], ("undo it? [y/N]", "y\n"))
    assert seen.startswith("undo stage: ") and "undone: stage: " in seen
    assert world.git("diff", "--cached", "--name-only") == ""


def test_a_committed_file_of_another_branch_is_not_taken_without_a_question(
    rewound: World,
) -> None:
    branch = rewound.git("branch", "--show-current")
    rewound.git("switch", "-q", "-c", "other")
    rewound.commit("a.py")
    before = files(rewound.path)
    refused = run(rewound, "undo")
    assert (refused.returncode, refused.stderr) == (
        128,
        "fatal: undo would change 'a.py', committed on 'other', for a step on "
        f"'{branch}'; --yes does it\n",
    )
    assert files(rewound.path) == before and "change  a.py" in done(rewound, "undo", "-n")
    seen = talk(rewound, ["undo"], ("1 committed file would change; undo it? [y/N]", "n\n"))
    assert f"note: it was done on '{branch}', and this is 'other'\r\n" in seen
    assert files(rewound.path) == before
    assert "undone" in done(rewound, "undo", "--yes")
    assert rewound.read("a.py") == "2\n"
    rewound.git("commit", "-qam", "two")
    assert "redo would change 'a.py', committed on 'other'" in run(rewound, "redo").stderr
    assert "1 committed file would change; redo it?" in talk(
        rewound, ["redo"], ("redo it? [y/N]", "\n")
    )


def test_a_script_undoes_on_the_branch_of_the_step_what_was_committed_since(
    rewound: World,
) -> None:
    rewound.commit("a.py")
    assert "undone" in done(rewound, "undo")
    assert rewound.read("a.py") == "2\n"


def test_a_script_undoes_on_another_branch_what_is_not_committed_there(rewound: World) -> None:
    rewound.git("switch", "-q", "-c", "other")
    assert "undone" in done(rewound, "undo")
    assert rewound.read("a.py") == "2\n"
