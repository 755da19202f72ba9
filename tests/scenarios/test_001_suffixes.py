"""doc/scenarios.md "001 Suffixes": the heuristic, its stories, the cleanup."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World

README = "line one\nline two\nline three\n"
MORE = README + "line four of the agent\nline five of the agent\n"


@pytest.fixture(autouse=True)
def suffixes(world: World) -> None:
    world.git("config", "gitcp.streams", "suffix")


# "Suffix Decision Heuristic": what the person did to the agent's lines, and each mode's answer.
STEP_3 = [
    ("untouched", MORE, True, True),
    ("edited beside", "line zero\n" + MORE, True, True),
    ("one line kept", README + "line five of the agent\n", True, True),
    ("indented anew", README + "    line four of the agent\n", True, False),
    ("minor edit", README + "line four, of the agent\n", False, False),
    ("lines gone", "LINE ONE\nline two\nline three\n", False, False),
]


@pytest.mark.parametrize("mode", ["fuzzy", "exact"])
@pytest.mark.parametrize(
    ("text", "fuzzy", "exact"), [pytest.param(*row[1:], id=row[0]) for row in STEP_3]
)
def test_step_3_asks_for_the_agents_lines(
    world: World, a: Agent, text: str, fuzzy: bool, exact: bool, mode: str
) -> None:
    world.git("config", "gitcp.suffix-match", mode)
    a.turn("add lines", {"README.md": MORE})
    world.write("README.md", text)
    a.prompt("go on")
    stays = fuzzy if mode == "fuzzy" else exact
    assert a.verdict == ("continue" if stays else "new")


# "Decision matrix", each row to its branch.
@pytest.mark.parametrize(
    ("text", "other", "suffix", "word"),
    [
        pytest.param(README, None, 2, "new", id="clean: NEW"),
        pytest.param(README, "x = 1\n", 2, "new", id="no overlap: NEW"),
        pytest.param(MORE, "x = 1\n", 1, "continue", id="overlap, lines present: SAME"),
        pytest.param("other\n", None, 2, "new", id="overlap, lines gone: NEW"),
    ],
)
def test_the_decision_matrix(
    world: World, a: Agent, b: Agent, text: str, other: str | None, suffix: int, word: str
) -> None:
    a.turn("add lines", {"README.md": MORE})
    assert world.streams == [world.branch(1)]
    assert a.state["shadow_branch_suffix"] == 1
    world.write("README.md", text)
    if other:
        world.write("src/app.py", other)
    b.turn("write b", {"src/b.py": "b = 1\n"})
    assert b.verdict == word
    assert b.state["shadow_branch_suffix"] == suffix
    assert world.streams == [world.branch(n) for n in range(1, suffix + 1)]
    assert world.archives == [], "a suffix takes nothing from another"


def test_dismiss_and_resume_of_one_session(world: World, a: Agent) -> None:
    """Work on -1, close the client, `git restore .`, resume: the same session goes on on -2."""
    a.start()
    a.turn("first", {"README.md": MORE})
    a.end()
    world.git("restore", ".")
    a.start("resume")
    a.turn("second", {"src/a.py": "a = 1\n"})
    assert a.state["shadow_branch_suffix"] == 2
    assert world.tree(world.branch(1)) == {"README.md": MORE}
    assert world.tree(world.branch(2)) == {"src/a.py": "a = 1\n"}
    assert a.state["files_touched"] == ["README.md", "src/a.py"]


def test_stash_question_unstash(world: World, a: Agent, b: Agent) -> None:
    """ "Why Not Just Reset": the question creates no -2, the commit condenses from -1."""
    a.turn("work", {"README.md": MORE})
    before = world.refs("refs/heads/entire")
    world.git("stash")
    b.turn("what is this?")
    assert world.refs("refs/heads/entire") == before
    world.git("stash", "apply")
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]
    assert world.streams == [] and world.open() == []


def test_the_harder_scenario_goes_back_to_suffix_1(world: World, a: Agent, b: Agent) -> None:
    a.turn("the work of a", {"README.md": MORE})
    world.git("stash")
    b.turn("the work of b", {"src/app.py": "print('b')\n"})
    assert world.streams == [world.branch(1), world.branch(2)]
    world.git("restore", ".")
    world.git("stash", "apply")
    a.prompt("what now?")
    assert a.verdict == "continue", "its own last stream"
    a.stop()
    b.turn("go on with that", {"src/b.py": "b = 1\n"})
    assert b.verdict == "restore"
    assert b.state["shadow_branch_suffix"] == 1
    assert world.streams == [world.branch(1), world.branch(2)], "no -3"
    assert world.tree(world.branch(1)) == {"README.md": MORE, "src/b.py": "b = 1\n"}
    [one] = world.commit()
    found = world.committed(one)
    assert found["session-a"]["files_touched"] == ["README.md"]
    assert found["session-b"]["files_touched"] == ["src/b.py"]
    assert world.streams == [], "all suffixes of the base are settled"
    assert len(world.archives) == 1, "what was dismissed is kept, away"


def test_the_harder_scenario_on_one_file_condenses_from_suffix_1_alone(
    world: World, a: Agent, b: Agent
) -> None:
    """The very steps of the story: no prompt between the unstash and the commit."""
    a.turn("the work of a", {"README.md": MORE})
    world.git("stash")
    b.turn("the work of b", {"README.md": README + "something else by b\n"})
    world.git("restore", ".")
    world.git("stash", "apply")
    [one] = world.commit()
    found = world.committed(one)
    assert list(found) == ["session-a"]
    assert "the work of a" in found["session-a"]["transcript"]
    assert world.streams == []


def test_each_session_condenses_from_its_own_suffix(world: World, a: Agent, b: Agent) -> None:
    a.turn("the work of a", {"README.md": MORE})
    world.git("stash")
    b.turn("the work of b", {"src/b.py": "b = 'by b'\n"})
    world.git("stash", "pop")
    [one] = world.commit()
    found = world.committed(one)
    assert sorted(found) == ["session-a", "session-b"]
    assert found["session-a"]["files_touched"] == ["README.md"]
    assert found["session-b"]["files_touched"] == ["src/b.py"]
    assert world.streams == [] and world.open() == []


def test_what_a_commit_leaves_goes_on_on_its_own_suffix(world: World, a: Agent, b: Agent) -> None:
    a.turn("the work of a", {"README.md": MORE, "src/a.py": "a = 1\n"})
    world.git("stash", "-u")
    b.turn("the work of b", {"src/b.py": "b = 'by b'\n"})
    world.git("stash", "pop")
    old = world.head
    [one] = world.commit("README.md")
    assert list(world.committed(one)) == ["session-a"]
    assert old[:7] not in " ".join(world.streams)
    assert world.streams == [world.branch(1), world.branch(2)]
    assert world.tree(world.branch(1)) == {"src/a.py": "a = 1\n"}
    assert world.tree(world.branch(2)) == {"src/b.py": "b = 'by b'\n"}
    assert world.metadata(world.branch(1)) == ["session-a"]
    assert world.metadata(world.branch(2)) == ["session-b"]
    [two] = world.commit()
    assert sorted(world.committed(two)) == ["session-a", "session-b"]
    assert world.streams == [] and world.open() == []


def test_two_verdicts_before_the_first_checkpoint_share_suffix_1(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("one")
    b.prompt("two")
    a.write("src/a.py", "a = 1\n")
    a.stop()
    b.write("src/b.py", "b = 1\n")
    b.stop()
    assert world.streams == [world.branch(1)]
    assert world.metadata(world.branch(1)) == ["session-a", "session-b"]


def test_back_in_overlap_mode_the_suffix_is_forgotten(world: World, a: Agent) -> None:
    a.turn("one", {"README.md": MORE})
    world.git("config", "gitcp.streams", "overlap")
    a.turn("two", {"src/a.py": "a = 1\n"})
    assert "shadow_branch_suffix" not in a.state
    assert world.tree(world.branch()) == {"README.md": MORE, "src/a.py": "a = 1\n"}
    [one] = world.commit()
    assert world.committed(one)["session-a"]["files_touched"] == ["README.md", "src/a.py"]
    assert world.streams == [] and world.open() == []
