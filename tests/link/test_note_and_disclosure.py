"""gitcp.link=note leaves messages alone; gitcp.disclose has a commit name who helped."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.checkpoints.share.original_refs import own_ref
from tests.support.harness import Agent, World
from tests.support.linking import noted

KEY = "Assisted-by"


@pytest.fixture
def by_note(world: World) -> World:
    world.git("config", "gitcp.link", "note")
    return world


def message(world: World, commit: str = "HEAD") -> str:
    return world.git("log", "-1", "--format=%B", commit).rstrip()


def edited(world: World, text: str) -> subprocess.CompletedProcess[str]:
    """`git commit` with an editor that puts text before what is there."""
    env = {**os.environ, **world.env, "GIT_EDITOR": f"sed -i '1s/^/{text}/'"}
    command = ["git", "commit", "-q"]
    return subprocess.run(command, cwd=world.path, env=env, capture_output=True, text=True)


def test_a_message_stays_as_it_is_and_the_commit_gets_a_note(by_note: World, a: Agent) -> None:
    a.turn("write", {"one.py": "one\n"})
    assert by_note.commit("one.py") == []
    assert message(by_note) == "commit one.py"
    [checkpoint_id] = noted(by_note, "HEAD")
    assert "write" in by_note.gitcp("show", "HEAD")
    assert checkpoint_id in by_note.gitcp("log", "--json")
    assert by_note.gitcp("fsck") == ""


def test_a_message_from_the_editor_stays_as_it_is(by_note: World, a: Agent) -> None:
    a.turn("write", {"one.py": "one\n"})
    by_note.git("add", "one.py")
    assert edited(by_note, "By hand").returncode == 0
    assert message(by_note) == "By hand"
    assert len(noted(by_note, "HEAD")) == 1


def test_an_amend_keeps_the_link_that_is_in_a_note(by_note: World, a: Agent) -> None:
    a.turn("write", {"one.py": "one\n"})
    by_note.commit("one.py")
    [checkpoint_id] = noted(by_note, "HEAD")
    by_note.git("commit", "-q", "--amend", "-m", "in other words")
    assert message(by_note) == "in other words"
    assert noted(by_note, "HEAD") == [checkpoint_id]


def test_a_squash_has_the_links_of_its_commits_in_its_note(by_note: World, a: Agent) -> None:
    by_note.git("switch", "-q", "-c", "topic")
    ids = []
    for name in ("one", "two"):
        a.turn(f"write {name}", {f"{name}.py": f"{name}\n"})
        by_note.commit(f"{name}.py")
        ids += noted(by_note, "HEAD")
    by_note.git("switch", "-q", "main")
    by_note.git("merge", "-q", "--squash", "topic")
    by_note.git("commit", "-q", "-m", "both")
    assert message(by_note) == "both"
    assert set(noted(by_note, "HEAD")) == set(ids)


def test_a_link_that_is_no_word_of_the_table_is_named(world: World) -> None:
    world.git("config", "gitcp.link", "nothing")
    assert "must be always, trailer, ask or note" in world.gitcp("status")


def test_a_commit_discloses_the_agent_and_its_model(world: World, a: Agent) -> None:
    world.git("config", "gitcp.disclose", KEY)
    a.prompt("write")
    a.write("one.py", "one\n")
    usage = {"input_tokens": 1, "output_tokens": 1}
    said = {"id": "msg_1", "role": "assistant", "model": "opus-9", "usage": usage, "content": []}
    a.say({"type": "assistant", "message": said})
    a.event("Stop", stop_hook_active=False)
    [checkpoint_id] = world.commit("one.py")
    lines = message(world).splitlines()
    assert lines[-2:] == [f"Entire-Checkpoint: {checkpoint_id}", f"{KEY}: Claude Code (opus-9)"]
    world.git("commit", "-q", "--amend", "--no-edit")
    assert message(world).splitlines() == lines


def test_a_commit_without_a_sessions_work_discloses_nothing(world: World) -> None:
    world.git("config", "gitcp.disclose", KEY)
    world.write("mine.py", "mine\n")
    world.commit("mine.py")
    assert message(world) == "commit mine.py"


def test_a_note_and_a_disclosure_go_together(by_note: World, a: Agent) -> None:
    by_note.git("config", "gitcp.disclose", KEY)
    a.turn("write", {"one.py": "one\n"})
    by_note.commit("one.py")
    assert message(by_note).splitlines() == ["commit one.py", "", f"{KEY}: Claude Code"]
    assert len(noted(by_note, "HEAD")) == 1


@pytest.mark.parametrize("link", ["trailer", "note"])
def test_a_message_that_only_discloses_is_an_empty_one(world: World, a: Agent, link: str) -> None:
    world.git("config", "gitcp.link", link)
    world.git("config", "gitcp.disclose", KEY)
    a.turn("write", {"one.py": "one\n"})
    world.git("add", "one.py")
    before = world.head
    assert edited(world, "").returncode == 1
    assert world.head == before
    assert edited(world, "Some text").returncode == 0
    assert f"{KEY}: Claude Code" in message(world)


def test_a_disclosure_that_is_no_trailer_is_named(world: World) -> None:
    world.git("config", "gitcp.disclose", "made by")
    assert "must be the name of a trailer" in world.gitcp("status")


def test_a_checkpoint_of_a_ref_is_linked_by_a_note_too(by_note: World, a: Agent) -> None:
    by_note.git("config", "gitcp.store", "refs")
    a.turn("write", {"one.py": "one\n"})
    by_note.commit("one.py")
    [checkpoint_id] = noted(by_note, "HEAD")
    assert by_note.git("rev-parse", own_ref(checkpoint_id))
