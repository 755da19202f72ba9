"""What one clone has forgotten: no merge, no other clone and no later write brings it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitcp.checkpoints import conversion, merging, stored, writing
from gitcp.checkpoints.share import places, sync
from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.setup.care import forgetting
from gitcp.text import console
from gitcp.text.ids import build_checkpoint_ref
from tests.checkpoints.store.conftest import clone, write
from tests.support.checkpoints import V1, blob, find_place, git, session, tree

A, AT = "a1b2c3d4e5f6", "a1/b2c3d4e5f6"


def write_tasks(repo: Repo, sid: str) -> None:
    """A session of A with a file and a subagent of its own."""
    data = session(sid, None, files_touched=[f"{sid}.py"], tasks=[f"t-{sid}"])
    data["tasks"] = {f"t-{sid}/agent-1.jsonl": b"words\n"}
    with Objects(repo):
        writing.write_sessions(repo, [(A, data)])


def forget(repo: Repo, sid: str) -> None:
    moved, _ = forgetting.forget_chosen(repo, forgetting.ForgetChoice(session_id=sid))
    forgetting.purge_objects(repo, moved)


def fetch(repo: Repo) -> None:
    with Objects(repo):
        for place in places.find_places(repo, "origin"):
            sync.fetch_store(repo, place, 30)


@pytest.fixture
def pair(bare: Path, repo: Path) -> tuple[Repo, Repo]:
    """Two clones of a store with a checkpoint of two sessions."""
    mine, yours = clone(bare, "mine"), clone(bare, "yours")
    for sid in ("s1", "s2"):
        write_tasks(mine, sid)
    with Objects(mine):
        sync.push_store(mine, find_place(mine, "origin"), 30)
    fetch(yours)
    return mine, yours


def test_a_merge_leaves_out_what_the_root_has_of_a_forgotten_session(
    pair: tuple[Repo, Repo],
) -> None:
    mine, yours = pair
    forget(mine, "s1")
    write_tasks(yours, "s3")
    with Objects(yours):
        sync.push_store(yours, find_place(yours, "origin"), 30)
    fetch(mine)
    at = mine.worktree
    assert sorted(path.split("/")[3] for path in tree(f"{V1}", at) if "/tasks/" in path) == [
        "t-s2",
        "t-s3",
    ]
    root = json.loads(blob(f"{V1}:{AT}/metadata.json", at))
    assert root["files_touched"] == ["s2.py", "s3.py"]


def test_a_tombstone_names_the_subagents_that_only_another_clone_knew(
    pair: tuple[Repo, Repo],
) -> None:
    mine, yours = pair
    forget(mine, "s1")
    data = session("s1", None, tasks=["t-s1", "late"])
    data["tasks"] = {"late/agent-1.jsonl": b"words\n"}
    with Objects(yours):
        writing.write_sessions(yours, [(A, data)])
        sync.push_store(yours, find_place(yours, "origin"), 30)
    fetch(mine)
    assert not [path for path in tree(V1, mine.worktree) if "late" in path]


def test_what_is_too_much_to_merge_brings_nothing_back(
    pair: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, yours = pair
    forget(mine, "s1")
    before = git("rev-parse", V1, cwd=Path(mine.worktree))
    write_tasks(yours, "s3")
    with Objects(yours):
        sync.push_store(yours, find_place(yours, "origin"), 30)
    for most in (0, 300, 600):
        monkeypatch.setattr(merging, "_ALL", most)
        with console.Collected(), pytest.raises(Error, match="has forgotten content: not merged"):
            fetch(mine)
    assert git("rev-parse", V1, cwd=Path(mine.worktree)) == before


def test_of_two_clones_that_forget_neither_brings_back_what_the_other_forgot(
    pair: tuple[Repo, Repo], bare: Path
) -> None:
    mine, yours = pair
    forget(mine, "s1")
    forget(yours, "s2")
    forgetful = [git("rev-parse", V1, cwd=repo.worktree) for repo in pair]
    with Objects(mine):
        git("update-ref", "-d", V1, cwd=bare)
        sync.push_store(mine, find_place(mine, "origin"), 30)
    fetch(yours)
    history = git("rev-list", V1, cwd=yours.worktree).split()
    assert not {*forgetful} & {*history}
    message = git("log", "-1", "--format=%B", V1, cwd=yours.worktree)
    assert all(f"Gitcp-Forgets: {tip}" in message for tip in forgetful)
    assert "words" not in git("log", "-p", "--format=", V1, cwd=yours.worktree)


def test_what_was_forgotten_is_not_written_again(bare: Path, repo: Path) -> None:
    here = clone(bare, "here")
    write(here, A, "s1")
    forget(here, "s1")
    tip = git("rev-parse", V1, cwd=here.worktree)
    write(here, A, "s1", summary={"intent": "words"})
    assert git("rev-parse", V1, cwd=here.worktree) == tip
    write(here, A, "s2")
    with Objects(here):
        assert stored.list_session_ids(here, A) == ["s1", "s2"]
    assert "words" not in blob(f"{V1}:{AT}/0/metadata.json", here.worktree).decode()


def test_a_ref_forgets_what_the_branch_it_was_made_of_has_forgotten(
    pair: tuple[Repo, Repo], bare: Path
) -> None:
    mine, yours = pair
    conversion.convert_store(yours)
    forget(mine, "s1")
    assert sync.forget_there(mine, find_place(mine, "origin"), 30) == (1, [])
    fetch(yours)
    ref = build_checkpoint_ref(A)
    assert "t-s1/" not in git("log", "-p", "--format=", ref, cwd=yours.worktree)
    assert tree(ref, yours.worktree).keys() == {
        path.removeprefix(f"{AT}/") for path in tree(V1, yours.worktree)
    }


def test_a_branch_forgets_what_the_ref_of_a_checkpoint_has_forgotten(
    pair: tuple[Repo, Repo], bare: Path
) -> None:
    mine, yours = pair
    conversion.convert_store(yours)
    with Objects(yours):
        sync.push_store(yours, find_place(yours, "origin"), 30)
    git("update-ref", "-d", V1, cwd=bare)
    forget(yours, "s1")
    assert sync.forget_there(yours, find_place(yours, "origin"), 30) == (1, [])
    fetch(mine)
    shown = git("log", "-p", "--format=", V1, cwd=mine.worktree)
    assert "t-s1/" not in shown and "t-s2/" in shown
    assert git("reflog", V1, cwd=mine.worktree) == ""
    fetch(mine)
    with Objects(mine):
        assert stored.list_session_ids(mine, A) == ["s1", "s2"]


@pytest.mark.parametrize("again", [True, False])
def test_a_branch_that_a_remote_lacks_is_not_sent_with_what_a_ref_there_has_forgotten(
    pair: tuple[Repo, Repo], bare: Path, tmp_path: Path, again: bool
) -> None:
    mine, yours = pair
    conversion.convert_store(yours)
    forget(yours, "s1")
    hub = tmp_path / "hub.git"
    git("init", "-q", "--bare", str(hub))
    ref = build_checkpoint_ref(A)
    git("push", "-q", str(hub), ref, cwd=yours.worktree)
    git("remote", "add", "hub", str(hub), cwd=mine.worktree)
    with Objects(mine):
        sync.push_store(mine, find_place(mine, "hub"), 30, again=again)
    shown = git("log", "-p", "--format=", "--all", cwd=hub)
    assert "t-s1/" not in shown and "t-s2/" in shown
    assert V1 in git("for-each-ref", cwd=hub)


def test_a_fetch_leaves_no_remote_tracking_branch_with_what_was_forgotten(
    pair: tuple[Repo, Repo],
) -> None:
    mine, yours = pair
    git("fetch", "-q", cwd=yours.worktree)
    forget(mine, "s1")
    assert sync.forget_there(mine, find_place(mine, "origin"), 30) == (1, [])
    fetch(yours)
    shown = git("log", "-p", "--format=", "--all", "--reflog", cwd=yours.worktree)
    assert "t-s1/" not in shown and "t-s2/" in shown


def test_what_was_forgotten_is_taken_out_of_each_of_several_push_urls(
    pair: tuple[Repo, Repo], bare: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second.git"
    git("clone", "-q", "--mirror", str(bare), str(second))
    for url in (second, bare):
        git("config", "--add", "remote.origin.pushurl", str(url), cwd=pair[0].worktree)
    mine = Repo.find(str(pair[0].worktree))
    old = git("rev-parse", V1, cwd=bare)
    fetch(mine)
    forget(mine, "s1")
    there = places.find_places(mine, "origin")
    assert [sync.forget_there(mine, place, 30) for place in there] == [(1, []), (1, [])]
    git("update-ref", V1, old, cwd=second)  # as if it had not answered
    fetch(mine)
    assert [sync.forget_there(mine, place, 30) for place in there] == [(1, []), (0, [])]
    assert git("rev-parse", V1, cwd=second) == git("rev-parse", V1, cwd=mine.worktree)
