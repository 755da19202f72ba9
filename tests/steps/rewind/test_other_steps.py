"""Steps of other commands in the undo log: notes, refs and files, taken back and done again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitcp.checkpoints import notes
from gitcp.git import refs
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record import contents
from gitcp.record.session.others import held_state
from gitcp.steps import undo
from gitcp.steps.step import FILE, NOTE, REF, Effect
from tests.steps.rewind.going import done, run
from tests.support.harness import World

ID = "a1b2c3d4e5f6"


@pytest.fixture
def repo(world: World) -> Repo:
    return Repo.find(str(world.path))


def linked(repo: Repo, world: World) -> None:
    """A note is made, as `gitcp link` makes one, while a session's lock is held."""
    with Objects(repo), held_state(repo, ["some-session"]):
        notes.add_link(repo, world.head, ID)
        text = notes.read_note(repo.objects, world.head)
        new = repo.objects.hash_object("blob", text or b"")
        effect = Effect(NOTE, world.head, None, new)
        undo.record_step(repo, "link", "a commit", [effect])


def noted(repo: Repo, world: World) -> list[str]:
    with Objects(repo):
        return notes.parse_note(notes.read_note(repo.objects, world.head) or b"")


def test_a_note_is_taken_back_and_put_there_again(world: World, repo: Repo) -> None:
    linked(repo, world)
    assert "link: a commit" in done(world, "undo", "--list")
    done(world, "undo")
    assert noted(repo, world) == []
    done(world, "redo")
    assert noted(repo, world) == [ID]


def test_a_note_that_somebody_changed_since_is_not_touched(world: World, repo: Repo) -> None:
    linked(repo, world)
    world.git("notes", "--ref=gitcp", "append", "-m", "theirs", "HEAD")
    ended = run(world, "undo")
    assert (ended.returncode, "note on" in ended.stderr) == (128, True)
    assert noted(repo, world) == [ID]


def test_a_ref_goes_back_by_compare_and_swap(world: World, repo: Repo) -> None:
    old = world.git("rev-parse", "HEAD~1")
    refs.update_refs(repo, [("refs/gitcp/test", world.head, None)], "test")
    with Objects(repo):
        effect = Effect(REF, "refs/gitcp/test", old, world.head)
        undo.record_step(repo, "repair", "a ref", [effect])
    done(world, "undo")
    assert world.git("rev-parse", "refs/gitcp/test") == old
    done(world, "redo")
    assert world.git("rev-parse", "refs/gitcp/test") == world.head
    world.git("update-ref", "refs/gitcp/test", world.git("rev-parse", "HEAD^{tree}"))
    assert run(world, "undo").returncode == 128


def name_conversation(world: World) -> Path:
    """A file where a client would keep a conversation."""
    folder = world.home / ".claude" / "projects" / "repo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "one.jsonl"


def test_the_content_of_a_file_is_kept_privately_and_comes_back(world: World, repo: Repo) -> None:
    path = name_conversation(world)
    path.write_text("new")
    old = contents.keep_bytes(repo, b"old")
    effect = Effect(FILE, str(path), old, contents.keep_bytes(repo, b"new"))
    with Objects(repo):
        undo.record_step(repo, "resume", "a conversation", [effect])
    done(world, "undo")
    assert path.read_text() == "old"
    done(world, "redo")
    assert path.read_text() == "new"
    folder = world.path / ".git" / "gitcp" / "kept"
    assert {oct(os.stat(p).st_mode)[-3:] for p in folder.iterdir()} == {"600"}


def test_a_step_that_is_only_half_possible_is_not_begun(world: World, repo: Repo) -> None:
    linked(repo, world)
    path = name_conversation(world)
    path.write_text("somebody else's")
    old = contents.keep_bytes(repo, b"before")
    wanted = [
        Effect(FILE, str(path), old, contents.keep_bytes(repo, b"ours")),
        Effect(REF, "refs/gitcp/test", None, world.head),
    ]
    refs.update_refs(repo, [("refs/gitcp/test", world.head, None)], "test")
    with Objects(repo):
        undo.record_step(repo, "repair", "both", wanted)
    assert "changed since by somebody else" in run(world, "undo").stderr
    assert world.git("rev-parse", "refs/gitcp/test") == world.head
    assert path.read_text() == "somebody else's"
