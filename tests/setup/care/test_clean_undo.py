"""clean and undo logs: old steps go with what only they need; their points are remembered."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record import contents
from gitcp.setup.care import upkeep
from gitcp.steps import undo
from gitcp.steps.step import REF, Effect
from tests.steps.rewind.going import done, points, run, temporary
from tests.support.harness import Agent, World

DAY = 86400


@pytest.fixture
def a(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """Three turns; the dates of commits are today's."""
    for key in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.delenv(key)
    agent = world.agent("11111111-aaaa-4a87-9186-848bdd83d62e")
    for number in (1, 2, 3):
        agent.turn(f"prompt {number}", {"a.py": f"{number}\n"})
    yield agent


def clean(world: World, later: float) -> list[tuple[str, str]]:
    """(kind, subject) of what is deleted that undo logs kept, so many days from now."""
    repo = Repo.find(str(world.path))
    ages = upkeep.find_ages(repo)
    ages.now += later * DAY
    settled = [one for one in upkeep.find_orphans(repo, ages) if one.is_settled]
    kinds = ("expired-undo", "expired-steps", "kept-file")
    deleted = upkeep.delete_settled(repo, ages, [one for one in settled if one.kind in kinds])
    return [(one.kind, os.path.basename(one.subject)) for one in deleted]


def backdate(world: World, steps: int, days: int) -> None:
    """Let the first steps of the log have been made so many days ago."""
    ref = "refs/gitcp/undo/e3b0c4"
    then = f"{int(time.time()) - days * DAY} +0000"
    parent: list[str] = []
    for number, oid in enumerate(world.git("rev-list", "--first-parent", "--reverse", ref).split()):
        data = world.git("cat-file", "commit", oid)
        head, _, message = data.partition("\n\n")
        words = head.split("\n")
        del words[1 : 1 + words[1].startswith("parent ")]
        if number < steps:
            words = [f"{w.rsplit(' ', 2)[0]} {then}" if "> " in w else w for w in words]
        words[1:1] = [f"parent {p}" for p in parent]
        made = world.path / ".git" / "made"
        made.write_text("\n".join(words) + "\n\n" + message + "\n")
        parent = [world.git("hash-object", "-t", "commit", "-w", str(made))]
    world.git("update-ref", ref, *parent)


def age_kept(world: World) -> set[str]:
    """The names of what is kept, all of it made old."""
    folder = world.path / ".git" / "gitcp" / "kept"
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    return {path.name for path in folder.iterdir()}


def test_a_log_that_is_young_stays_with_all_it_needs(world: World, a: Agent) -> None:
    done(world, "rewind", "--to", temporary(world)[-1])
    assert age_kept(world)
    assert clean(world, 29) == []
    done(world, "undo")
    assert world.read("a.py") == "3\n"


def test_old_steps_go_and_the_younger_ones_can_still_be_undone(world: World, a: Agent) -> None:
    oldest, middle = temporary(world)[-1], temporary(world)[-2]
    done(world, "rewind", "--to", oldest)
    first = age_kept(world)
    done(world, "rewind", "--files-only", "--to", middle)
    backdate(world, steps=1, days=31)
    age_kept(world)
    assert clean(world, 0) == [
        ("expired-steps", "e3b0c4"),
        *(("kept-file", name) for name in sorted(first)),
    ]
    done(world, "undo")
    assert world.read("a.py") == "1\n"
    assert "nothing to undo" in run(world, "undo").stderr
    assert clean(world, 0) == []


def test_a_log_that_is_old_goes_whole_and_its_points_are_gone(world: World, a: Agent) -> None:
    done(world, "rewind", "--files-only", "--to", temporary(world)[-1])
    (safety,) = [p["id"] for p in points(world) if p["kind"] == "safety"]
    assert ("expired-undo", "e3b0c4") in clean(world, 31)
    assert world.refs("refs/gitcp/undo") == {}
    (gone,) = [p for p in points(world) if p["id"] == safety]
    assert (gone["gone"], gone["kind"]) == (True, "safety")
    refused = run(world, "rewind", "--to", safety)
    assert f"point '{safety[:10]}' has expired: its content is gone" in refused.stderr
    assert safety[:10] not in done(world, "rewind", "--list")


def test_an_archive_that_expired_is_listed_as_gone_with_whose_it_was(
    world: World, a: Agent
) -> None:
    archived = temporary(world)[-1]
    world.git("checkout", "-q", "--", ".")
    world.git("clean", "-qfd")
    a.turn("something else", {"b.py": "1\n"})
    a.end()
    world.kill(a)
    assert archived in [p["id"] for p in points(world) if p["kind"] == "archived"]
    world.gitcp("clean", "--force", "--older-than", "0")
    (gone,) = [p for p in points(world) if p["id"] == archived]
    assert (gone["gone"], gone["kind"], gone["session_id"]) == (True, "archived", a.sid)
    assert (gone["message"], gone["base_commit"]) == ("Prompt 1", world.head)
    assert "has expired" in run(world, "rewind", "--to", archived).stderr


def test_the_log_of_a_worktree_that_is_gone_expires_too(
    world: World, a: Agent, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    world.git("worktree", "add", "-q", str(linked))
    b = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e", linked)
    b.turn("one", {"b.py": "1\n"})
    b.turn("two", {"b.py": "2\n"})
    turns = b.state["turns"]
    done(world, "rewind", "--files-only", "--to", list(turns)[-1], cwd=linked)
    world.git("worktree", "remove", "--force", str(linked))
    assert [kind for kind, _ in clean(world, 31)] == ["expired-undo"]


def test_a_content_that_is_kept_anew_is_not_removed(world: World, a: Agent) -> None:
    repo = Repo.find(str(world.path))
    name = contents.keep_bytes(repo, b"what was there")
    age_kept(world)
    contents.keep_bytes(repo, b"what was there")
    assert clean(world, 0) == []
    age_kept(world)
    assert clean(world, 0) == [("kept-file", name)]


def test_a_step_with_other_commits_behind_it_keeps_them(world: World, a: Agent) -> None:
    done(world, "rewind", "--files-only", "--to", temporary(world)[-1])
    repo = Repo.find(str(world.path))
    with Objects(repo):
        effect = Effect(REF, "refs/gitcp/test", world.head, None)
        undo.record_step(repo, "repair", "a ref", [effect])
    backdate(world, steps=1, days=31)
    assert clean(world, 0) == [("expired-steps", "e3b0c4")]
    assert world.head in world.git("log", "-1", "--format=%P", "refs/gitcp/undo/e3b0c4")
    assert [step.reason for step in undo.read_steps(repo)] == ["a ref"]


def test_what_is_damaged_in_the_list_of_what_expired_is_passed_over(world: World, a: Agent) -> None:
    path = world.path / ".git" / "gitcp" / "expired"
    path.write_text('{"id": "abc"}\nnot JSON\n[1]\n{"id": "def", "time": "x"}\n')
    assert [p for p in points(world, "--all") if p["gone"]] == []
