"""Real clients go on from where gitcp put their conversations: the model is sent that, no more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, points, run, temporary
from tests.support.clients.real import Client, write_file
from tests.support.harness import World

AGENTS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli"}
FIRST = ["the first prompt", "writes a.txt", "writes b.txt", "first is done"]
SECOND = ["the second prompt", "writes c.txt", "second is done"]
pytestmark = pytest.mark.thorough
LONG = bool(os.environ.get("LONG"))  # else each client once, the quickest one more often


@pytest.fixture
def client(world: World, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client with a conversation of two turns: two files are written in the first, one in the
    second."""
    name, repo = request.param, world.path
    steps = [write_file(repo, name, f"{letter}.txt", f"{letter}\n") for letter in "abc"]
    first, second = ("first is done", "", None), ("second is done", "", None)
    made = Client(name, repo, world.home, [*steps[:2], first, steps[2], second])
    world.gitcp("enable", "--agent", AGENTS[name])
    made.run("the first prompt")
    made.run("the second prompt", session(world))
    assert (repo / "c.txt").read_text() == "c\n"
    yield made
    made.model.close()


def session(world: World) -> str:
    (state,) = (world.path / ".git" / "entire-sessions").glob("*.json")
    return state.stem


def sent(client: Client, words: str, heard: list[str] | None = None) -> list[str]:
    """What of both turns the model is sent when the person types the command that was told;
    heard: gets what gitcp lets the model know."""
    line = next(line for line in words.splitlines() if line.strip().startswith(f"{client.name} "))
    texts = client.run("the third prompt", line.split()[-1])
    assert [text for text in texts if "the third prompt" in text]
    if heard is not None:
        heard += [text for text in texts if "The user ran 'gitcp" in text]
    return [text for text in texts if text in (*FIRST, *SECOND)]


@pytest.mark.parametrize("client", AGENTS if LONG else ["claude", "gemini"], indirect=True)
def test_after_a_rewind_the_client_goes_on_from_that_turn(world: World, client: Client) -> None:
    (prompt, *_) = (p["id"] for p in points(world) if p["kind"] == "prompt")
    for point in (temporary(world)[-1], prompt) if LONG else (temporary(world)[-1],):
        told = done(world, "rewind", "--to", point)
        assert not (world.path / "c.txt").exists()
        # Claude Code may write a turn's last words when its Stop hook has ended.
        assert sent(client, told) == FIRST
        run(world, "undo")


@pytest.mark.parametrize("client", AGENTS if LONG else ["codex", "gemini"], indirect=True)
def test_after_a_rewind_into_a_turn_the_client_goes_on_from_that_call(
    world: World, client: Client
) -> None:
    calls = [p["id"] for p in reversed(points(world)) if p["kind"] == "tool"]
    told = done(world, "rewind", "--to", calls[1])
    assert (world.path / "a.txt").exists()
    assert not (world.path / "b.txt").exists()
    assert sent(client, told) == FIRST[:2]
    assert "has gone on since, and stays" in run(world, "undo").stderr
    assert sent(client, done(world, "rewind", "--to", f"{calls[1]}:after")) == FIRST[:3]


@pytest.mark.parametrize("client", AGENTS if LONG else ["codex"], indirect=True)
def test_with_same_id_the_client_continues_there_and_is_told_which_files_changed(
    world: World, client: Client
) -> None:
    told = run(world, "rewind", "--same-id", "--tell", "--to", temporary(world)[-1])
    assert told.stdout.split()[-1] == session(world), told
    heard: list[str] = []
    assert sent(client, told.stdout, heard) == FIRST
    assert "c.txt" in "".join(heard)


@pytest.mark.parametrize("client", AGENTS if LONG else ["codex"], indirect=True)
def test_a_client_with_a_home_of_its_own_finds_the_conversation_there(
    world: World, client: Client, tmp_path: Path
) -> None:
    world.env["HOME"] = str(tmp_path / "other")
    assert sent(client, done(world, "rewind", "--to", temporary(world)[-1])) == FIRST


@pytest.mark.parametrize("client", AGENTS if LONG else ["codex"], indirect=True)
def test_in_a_fresh_clone_on_another_machine_the_client_goes_on_from_the_commit(
    world: World, client: Client, tmp_path: Path
) -> None:
    world.commit("a.txt", "b.txt", "c.txt")
    bare, clone = world.share(), tmp_path / "clone"
    world.gitcp("push")
    world.git("clone", "-q", "--single-branch", str(bare), str(clone))
    done(world, "fetch", cwd=clone)
    world.env["HOME"] = str(tmp_path / "other")
    client.repo, client.home = clone, tmp_path / "other"
    assert sent(client, done(world, "resume", cwd=clone)) == [*FIRST, *SECOND]


@pytest.mark.parametrize(
    ("client", "name"),
    [("claude", "codex"), ("codex", "gemini"), ("gemini", "claude")],
    indirect=["client"],
)
def test_another_client_goes_on_with_a_hand_over_and_names_where_it_came_from(
    world: World, client: Client, name: str
) -> None:
    before = session(world)
    world.git("add", "a.txt", "b.txt", "c.txt")
    text = done(world, "resume", "--with", name, "--print", before)
    world.gitcp("enable", "--agent", AGENTS[name])
    other = Client(name, world.path, world.home, [write_file(world.path, name, "d.txt", "d\n")])
    try:
        heard = "\n".join(other.run(text))
    finally:
        other.model.close()
    for part in ("Continue: the first prompt", before, "second is done", "* c.txt: changed"):
        assert part in heard, heard
    world.commit("d.txt")
    assert f"goes on from session {shorten_id(before)}" in done(world, "log", "-n", "1")
