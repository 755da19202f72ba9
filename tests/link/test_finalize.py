"""The turn's end completes its checkpoints; what a crash left over the next event settles."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.harness import V1, Agent, World
from tests.support.linking import here, ids, linked, own, paths, sessions, settled, sound, v1

A, B = "def add(a, b):\n    return a + b\n", "def minus(a, b):\n    return a - b\n"


def transcript(world: World, checkpoint: str, sid: str = "session-a") -> str:
    return str(sessions(world, checkpoint)[sid]["transcript"])


def committing(a: Agent) -> list[str]:
    """A turn in which the agent has committed twice and goes on; the ids."""
    a.prompt("two commits")
    made = []
    for path, text in (("a.py", A), ("b.py", B)):
        a.write(path, text)
        own(a, "add", path)
        own(a, "commit", "-q", "-m", f"Add {path}")
        made += ids(a.world)
    return made


def test_a_transcript_that_is_flushed_late_is_completed_at_the_next_event(
    world: World, a: Agent
) -> None:
    one, two = committing(a)
    a.event("Stop", stop_hook_active=False)
    os.utime(a.transcript)  # an event that finds another date, and nothing more in the file
    a.start("resume")
    a.answer([{"type": "text", "text": "flushed after the hook"}])
    assert "flushed" not in transcript(world, one)
    a.start("resume")
    for checkpoint in (one, two):
        assert "flushed after the hook" in transcript(world, checkpoint)
    tip = world.git("rev-parse", V1)
    a.start("resume")
    assert world.git("rev-parse", V1) == tip, "once"
    sound(world)


def test_a_persons_commit_right_after_the_turn_is_completed_too(world: World, a: Agent) -> None:
    a.prompt("write")
    a.write("a.py", A)
    a.event("Stop", stop_hook_active=False)
    [one] = world.commit("a.py")
    a.answer([{"type": "text", "text": "flushed after the hook"}])
    a.prompt("thanks")
    assert "flushed after the hook" in transcript(world, one)
    sound(world)


def test_a_later_turn_leaves_finished_checkpoints_alone(world: World, a: Agent) -> None:
    [one, _] = committing(a)
    a.stop()
    before = transcript(world, one)
    a.turn("more", {"c.py": "c = 1\n"})
    assert transcript(world, one) == before
    assert "turn_checkpoint_ids" not in a.state


@pytest.mark.parametrize(
    ("who", "event"),
    [
        ("session-a", "prompt"),
        ("session-a", "start"),
        ("session-a", "end"),
        ("session-b", "prompt"),
        ("session-b", "start"),
    ],
)
def test_a_killed_agents_checkpoints_are_completed_by_whatever_event_comes_next(
    world: World, a: Agent, who: str, event: str
) -> None:
    one, two = committing(a)
    a.answer([{"type": "text", "text": "the last words"}])
    world.kill(a)
    agent = a if who == a.sid else world.agent(who)
    {"prompt": lambda: agent.prompt("again"), "start": agent.start, "end": agent.end}[event]()
    for checkpoint in (one, two):
        assert "the last words" in transcript(world, checkpoint)
    assert "turn_checkpoint_ids" not in a.state
    assert who == a.sid or (a.state["phase"], a.sid in world.open()) == ("ended", False)
    sound(world)


@pytest.mark.parametrize("above", [False, True], ids=["its own process", "a process above us"])
def test_a_living_agents_checkpoints_wait_for_its_own_end(
    world: World, a: Agent, above: bool
) -> None:
    if above:
        here(a)
    one, two = committing(a)
    a.answer([{"type": "text", "text": "not yet"}])
    world.agent("session-b").prompt("hello")
    assert "not yet" not in transcript(world, one)
    assert a.state["turn_checkpoint_ids"] == [one, two]


# Killed at each step of a commit.  What was not written yet is put back as it was: that is
# what the disk looks like then.


def remember_files(world: World) -> Callable[..., None]:
    """Remember states, markers, streams and journal; the call puts back those that are named."""
    git = world.path / ".git"
    away = world.home / "kept"
    folders = {"states": git / "entire-sessions", "markers": git / "gitcp" / "open"}
    for name, folder in folders.items():
        shutil.copytree(folder, away / name)
    journal = (git / "gitcp" / "journal").read_bytes()
    streams = {r: o for r, o in world.refs("refs").items() if "entire/" in r or "gitcp/" in r}

    def back(*words: str) -> None:
        looked = git / "gitcp" / "looked"  # what was judged is written when all is done
        looked.write_text(looked.read_text().partition("\n")[0] if looked.exists() else "0")
        for name in words:
            if name in folders:
                shutil.rmtree(folders[name], ignore_errors=True)
                shutil.copytree(away / name, folders[name])
        if "v1" in words and V1 not in streams and world.refs(V1):
            world.git("update-ref", "-d", V1)
        if "journal" in words:
            (git / "gitcp" / "journal").write_bytes(journal)
        if "streams" in words:
            for ref in set(world.refs("refs/heads/entire")) - {V1, *streams}:
                world.git("update-ref", "-d", ref)
            for ref, oid in streams.items():
                if ref != V1:
                    world.git("update-ref", ref, oid)

    return back


STEPS = {
    "prepare": ("v1", "journal", "states", "markers", "streams"),
    "v1": ("states", "markers", "streams"),
    "markers": ("states", "streams"),
    "states": ("streams",),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("who", ["person", "agent"])
def test_a_commit_that_was_killed_is_settled_by_the_next_event(
    world: World, a: Agent, step: str, who: str
) -> None:
    base = world.head
    if who == "person":
        a.turn("write", {"a.py": A, "b.py": B})
    else:
        a.prompt("write and commit")
        a.write("a.py", A)
        a.write("b.py", B)
    back = remember_files(world)
    if who == "person":
        [one] = world.commit("a.py")
    else:
        own(a, "add", "a.py")
        own(a, "commit", "-q", "-m", "a")
        [one] = ids(world)
    back(*STEPS[step])
    if who == "person":
        a.start("resume")
    else:
        a.stop()
    assert linked(world, base) == [["a.py"]]
    assert sorted(v1(world)) == paths(one)
    assert "b.py" in transcript(world, one)
    assert a.state["files_touched"] == ["b.py"]
    assert a.state["base_commit"] == world.head
    world.commit("b.py")
    assert linked(world, base) == [["b.py"], ["a.py"]]
    if who == "person":
        settled(world, a)
    assert world.streams == []
    sound(world)


@pytest.mark.parametrize("step", STEPS)
def test_a_commit_after_one_that_was_killed_links_what_it_has(
    world: World, a: Agent, step: str
) -> None:
    base = world.head
    a.turn("write", {"a.py": A, "b.py": B})
    back = remember_files(world)
    world.commit("a.py")
    back(*STEPS[step])
    world.commit("b.py")
    a.start("resume")
    assert linked(world, base) == [["b.py"], ["a.py"]]
    settled(world, a)
    sound(world)


def test_a_turn_end_that_was_killed_before_its_finalize_is_made_up_for(
    world: World, a: Agent
) -> None:
    one, two = committing(a)
    back = remember_files(world)
    tip = world.git("rev-parse", V1)
    a.stop()
    world.git("update-ref", V1, tip)
    back("states", "markers")
    a.start("resume")
    assert "done" in transcript(world, one) and "done" in transcript(world, two)
    assert "turn_checkpoint_ids" not in a.state
    sound(world)


def test_a_damaged_transcript_does_not_stop_the_link(world: World, a: Agent) -> None:
    a.turn("write", {"a.py": A})
    a.transcript.write_bytes(b"\xff\x00 not json\n{\n")
    base = world.head
    world.git("add", "a.py")
    world.git("commit", "-q", "-m", "a", warns="is ignored: it does not begin as a transcript")
    assert linked(world, base) == [["a.py"]]
    sound(world)


def test_a_missing_transcript_does_not_stop_the_link(
    world: World, a: Agent, tmp_path: Path
) -> None:
    a.prompt("write")
    a.write("a.py", A)
    a.transcript.unlink()
    a.event("Stop", stop_hook_active=False)
    [one] = world.commit("a.py")
    files = [p for p in v1(world) if p.startswith(f"{one[:2]}/{one[2:]}/0/")]
    assert f"{one[:2]}/{one[2:]}/0/metadata.json" in files
