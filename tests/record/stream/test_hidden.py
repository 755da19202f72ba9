"""Streams outside of the branches: nobody who lists branches meets them, everybody of ours does."""

from __future__ import annotations

import pytest

from tests.support.harness import Agent, World
from tests.support.linking import ids, sound

HIDDEN = "refs/gitcp/streams/"


def hidden(world: World) -> set[str]:
    return set(world.refs(HIDDEN))


def place(world: World, suffix: int | None = None) -> str:
    return world.branch(suffix).replace("entire/", HIDDEN)


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
def test_hidden_streams_live_as_branches_do(world: World, mode: str) -> None:
    world.git("config", "gitcp.streams", mode)
    world.git("config", "gitcp.streams-hidden", "true")
    a = world.agent("session-a")
    a.turn("work", {"a.txt": "one\n", "b.txt": "two\n"})
    first = None if mode == "overlap" else 1
    assert hidden(world) == {place(world, first)} and not world.streams
    a.turn("more", {"a.txt": "one\nmore\n"})
    assert world.git("rev-list", "--count", place(world, first)) == "2"
    assert a.sid in world.gitcp("list-streams")
    world.commit("a.txt")
    assert ids(world) and hidden(world) == {place(world, first)}
    world.git("checkout", "-q", "--", ".")
    (world.path / "b.txt").unlink()
    a.turn("again", {"c.txt": "three\n"})
    assert world.archives or mode == "suffix"
    world.commit("c.txt")
    assert ids(world) and not world.streams
    assert "entire/" not in world.git("branch", "--all").replace("entire/checkpoints/v1", "")
    sound(world)


def test_the_options_of_git_log_hide_what_the_manual_says_they_hide(world: World) -> None:
    for setting in ("gitcp.streams-hidden=true", "gitcp.store=refs"):
        world.git("config", *setting.split("="))
    a = world.agent("session-a")
    a.turn("work", {"a.txt": "one\n"})
    world.commit("a.txt")
    a.turn("more", {"b.txt": "two\n"})
    mine = set(world.git("rev-list", "HEAD").split())
    streams = {world.refs(ref)[ref] for ref in hidden(world)}
    every = {
        "--all": True,
        "--branches --remotes --tags": False,
        "--exclude=refs/gitcp/* --all": False,
    }
    for options, seen in every.items():
        listed = set(world.git("log", "--format=%H", *options.split()).split())
        assert mine <= listed and (streams <= listed) is seen, options
        assert seen or not streams & listed


@pytest.mark.parametrize("mode", ["overlap", "suffix"])
@pytest.mark.parametrize("start", ["prompt", "start"])
def test_streams_move_when_the_setting_changes_and_lose_nothing(
    world: World, mode: str, start: str
) -> None:
    world.git("config", "gitcp.streams", mode)
    a = world.agent("session-a")
    a.turn("work", {"a.txt": "one\n"})
    world.git("branch", "entire/1234567-e3b0c4")  # the person's
    (old,) = set(world.refs("refs/heads/entire")) - {"refs/heads/entire/1234567-e3b0c4"}
    tip = world.refs(old)[old]
    world.git("pack-refs", "--all")
    for setting in ("true", "false"):
        world.git("config", "gitcp.streams-hidden", setting)
        assert tip in world.gitcp("list-streams")
        begin(a, start)
        here = hidden(world) if setting == "true" else set(world.refs("refs/heads/entire"))
        (ref,) = here - {"refs/heads/entire/1234567-e3b0c4"}
        assert world.refs(ref)[ref] == tip
        assert "entire/1234567-e3b0c4" in world.streams and len(world.streams) < 3
    sound(world)
    world.git("config", "gitcp.streams-hidden", "true")
    world.commit("a.txt")  # before any event has moved the stream
    assert ids(world) and not hidden(world) and world.streams == ["entire/1234567-e3b0c4"]


def begin(agent: Agent, how: str) -> None:
    if how == "start":
        agent.event("SessionStart", source="resume")
    else:
        agent.prompt("go on")


def test_a_stream_that_both_places_have_keeps_both_histories(world: World) -> None:
    a = world.agent("session-a")
    a.turn("work", {"a.txt": "one\n"})
    branch = f"refs/heads/{world.branch()}"
    world.git("config", "gitcp.streams-hidden", "true")
    a.turn("more", {"b.txt": "two\n"})
    kept, seen = place(world), world.git("rev-parse", f"{place(world)}~")
    world.git("update-ref", branch, seen)  # an older gitcp wrote here
    a.turn("still", {"c.txt": "three\n"})
    assert not world.streams and world.refs(kept)
    assert [world.git("rev-parse", ref) for ref in world.archives] == [seen]
    world.commit()
    assert ids(world)
    sound(world)


def test_rewind_and_doctor_find_hidden_streams(world: World) -> None:
    world.git("config", "gitcp.streams-hidden", "true")
    a = world.agent("session-a")
    a.turn("work", {"a.txt": "one\n"})
    point = world.git("rev-parse", place(world))
    a.turn("more", {"a.txt": "two\n"})
    world.gitcp("rewind", "--to", point[:12], "--force")
    assert world.read("a.txt") == "one\n"
    name = place(world).removeprefix(HIDDEN)
    for asked in (name, f"entire/{name}", f"gitcp/streams/{name}", place(world)):
        assert world.gitcp("read-stream", asked)
    sound(world)
