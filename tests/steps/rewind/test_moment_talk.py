"""A moment inside a turn has its conversation too: cut before the prompt, or around the call."""

from __future__ import annotations

import pytest

from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import done, run
from tests.steps.rewind.test_conversation import transcripts
from tests.support.harness import Agent, World


@pytest.fixture
def a(world: World) -> Agent:
    """A session of two turns, the second with two calls."""
    agent = world.agent(SID, tools=True)
    agent.turn("prompt 1", {"a.py": "1\n"})
    agent.turn("prompt 2", {"a.py": "2\n", "b.py": "2\n"})
    return agent


def cut(world: World, a: Agent, point: str, *how: str) -> str:
    """What the conversation holds that rewind put back beside the newer one."""
    before = transcripts(a)
    told = done(world, "rewind", *how, "--to", point)
    after = transcripts(a)
    (new,) = after.keys() - before.keys()
    assert f"claude -r {new}" in told
    assert after[SID] == before[SID]
    return after[new]


def test_before_a_call_nothing_of_it_is_said_and_after_it_nothing_of_the_next(
    world: World, a: Agent
) -> None:
    before = cut(world, a, "toolu_3")
    assert "toolu_2" in before
    assert "toolu_3" not in before
    assert not (world.path / "b.py").exists()
    done(world, "undo")
    after = cut(world, a, "toolu_2:after")
    assert ("toolu_2" in after, "toolu_3" in after) == (True, False)


def test_before_a_prompt_the_turn_before_it_is_the_last(world: World, a: Agent) -> None:
    said = cut(world, a, a.state["turn_id"])
    assert "prompt 1" in said
    assert "prompt 2" not in said.replace("prompt 2 (rewound)", "")
    assert "toolu_2" not in said
    assert world.read("a.py") == "1\n"


def test_after_a_turn_it_is_the_last_and_whole(world: World, a: Agent) -> None:
    first = next(iter(a.state["turns"]))
    said = cut(world, a, f"{first}:after")
    assert ("toolu_1" in said, '"done"' in said) == (True, True)
    assert "toolu_2" not in said
    assert world.read("a.py") == "1\n"


def test_before_the_first_prompt_there_is_no_conversation(world: World, a: Agent) -> None:
    first = next(iter(a.state["turns"]))
    before = transcripts(a)
    assert "go on with" not in done(world, "rewind", "--to", first)
    assert transcripts(a) == before


def test_without_the_live_transcript_what_is_stored_is_cut(world: World, a: Agent) -> None:
    a.transcript.unlink()
    ended = run(world, "rewind", "--transcript-only", "--to", "toolu_3")
    assert "to go on with the conversation from there" in ended.stdout
    (new,) = transcripts(a).values()
    assert ("toolu_2" in new, "toolu_3" in new) == (True, False)


def test_a_call_that_the_transcript_does_not_have_leaves_the_conversation_and_says_so(
    world: World, a: Agent
) -> None:
    a.transcript.write_text(a.transcript.read_text().replace("toolu_3", "other"))
    ended = run(world, "rewind", "--to", "toolu_3")
    assert "note: the transcript does not have the edit or command 'toolu_3'" in ended.stderr
    assert not (world.path / "b.py").exists()
    assert run(world, "rewind", "--transcript-only", "--to", "toolu_3").returncode == 128
