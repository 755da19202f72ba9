"""The check before a push: a secret that got onto the branch does not leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp.errors import Error
from gitcp.repo import Repo
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.objects import Objects
from gitcp.store.git.tree import edit_tree
from gitcp.store.v1 import sync
from tests.support.checkpoints import V1, git

TOKEN = "ghp_" + "a1B2" * 9
LINE = '{"type":"user","uuid":"%s","message":{"role":"user","content":"%s"}}\n'


@pytest.fixture
def here(repo: Path, tmp_path: Path) -> Repo:
    """A clone with a remote, in which another program wrote to the branch."""
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git("remote", "add", "origin", str(tmp_path / "bare.git"))
    return Repo.find()


def store(repo: Repo, path: str, content: str) -> None:
    with Objects(repo) as objects:
        tip = refs.read(repo, V1)
        before = objects.read(f"{tip}^{{tree}}") if tip else None
        blob = objects.write("blob", content.encode())
        tree = edit_tree(objects, before[0] if before else None, {path: ("100644", blob)})
        made = write_commit(objects, repo, tree, [tip] if tip else [], "Checkpoint: x")
        refs.update(repo, [(V1, made, tip)], "test")


def push(repo: Repo) -> None:
    with Objects(repo) as objects:
        sync.push(repo, objects, "origin", 30)


def sent(tmp_path: Path) -> bool:
    return bool(git("for-each-ref", V1, cwd=tmp_path / "bare.git"))


@pytest.mark.parametrize("name", ["full.jsonl", "full.jsonl.001", "prompt.txt", "context.md"])
def test_a_secret_stops_the_push_and_is_named(here: Repo, tmp_path: Path, name: str) -> None:
    line = LINE % ("u1", f"use {TOKEN}") if name.startswith("full") else f"use {TOKEN}\n"
    store(here, f"aa/0000000000/0/{name}", line)
    with pytest.raises(Error, match=f"not pushed: .* in 'aa/0000000000/0/{name}'"):
        push(here)
    assert not sent(tmp_path)


def test_ids_in_a_transcript_are_no_secrets(here: Repo, tmp_path: Path) -> None:
    store(here, "aa/0000000000/0/full.jsonl", LINE % ("req_" + "a1B2c3D4" * 6, "hello"))
    push(here)
    assert sent(tmp_path)


def test_what_the_remote_has_is_not_looked_at_again(here: Repo, tmp_path: Path) -> None:
    store(here, "aa/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    git("config", "gitcp.push-check", "false")
    push(Repo.find())
    git("config", "--unset", "gitcp.push-check")
    store(here, "ab/0000000000/0/prompt.txt", "hello\n")
    push(Repo.find())
    ids = git("ls-tree", "--name-only", V1, cwd=tmp_path / "bare.git").split()
    assert ids == ["aa", "ab"]


def test_the_check_can_be_switched_off(here: Repo, tmp_path: Path) -> None:
    store(here, "aa/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    git("config", "gitcp.push-check", "false")
    push(Repo.find())
    assert sent(tmp_path)
