"""The check before a push: a secret that got onto the branch does not leave."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gitcp.core.redact.redactor import Redactor
from gitcp.errors import Error
from gitcp.process import deadline
from gitcp.repo import Repo
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.objects import Objects
from gitcp.store.git.tree import edit_tree
from gitcp.store.share import push_check, sync
from gitcp.store.v1 import redaction
from tests.support.checkpoints import V1, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.redact.rules import Secret

TOKEN = "ghp_" + "a1B2" * 9
LINE = '{"type":"user","uuid":"%s","message":{"role":"user","content":"%s"}}\n'


@pytest.fixture
def here(repo: Path, tmp_path: Path) -> Repo:
    """A clone with a remote, in which another program wrote to the branch."""
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git("remote", "add", "origin", str(tmp_path / "bare.git"))
    return Repo.find()


def store(repo: Repo, path: str, content: str) -> None:
    store_all(repo, {path: content})


def store_all(repo: Repo, files: dict[str, str]) -> None:
    with Objects(repo) as objects:
        tip = refs.read_ref(repo, V1)
        before = objects.read(f"{tip}^{{tree}}") if tip else None
        blobs = {p: ("100644", objects.write("blob", s.encode())) for p, s in files.items()}
        tree = edit_tree(objects, before[0] if before else None, blobs)
        made = write_commit(objects, repo, tree, [tip] if tip else [], "Checkpoint: x")
        refs.update_refs(repo, [(V1, made, tip)], "test")


def push(repo: Repo, remote: str = "origin", seconds: float = 30) -> None:
    with Objects(repo) as objects:
        sync.push_store(repo, objects, remote, seconds)


def sent(tmp_path: Path, name: str = "bare.git") -> bool:
    return bool(git("for-each-ref", V1, cwd=tmp_path / name))


def second(tmp_path: Path) -> str:
    """Another remote, that has nothing yet."""
    git("init", "-q", "--bare", str(tmp_path / "second.git"))
    git("remote", "add", "second", str(tmp_path / "second.git"))
    return "second"


def watched(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is searched from now on."""
    find, searched = Redactor.find, list[bytes]()

    def finding(self: Redactor, data: bytes, kind: str = "text") -> list[Secret]:
        searched.append(data)
        return find(self, data, kind)

    monkeypatch.setattr(Redactor, "find", finding)
    return searched


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


def test_what_was_searched_once_is_not_searched_again(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    push(here)
    store(here, "ab/0000000000/0/prompt.txt", "hello again\n")
    searched = watched(monkeypatch)
    push(here, second(tmp_path))
    assert searched == [b"hello again\n"]
    assert sent(tmp_path, "second.git")


def test_what_other_rules_let_pass_is_searched_again(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("config", "gitcp.redact-allow", "ghp_")
    store(here, "aa/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    push(Repo.find())
    git("config", "--unset", "gitcp.redact-allow")
    monkeypatch.setattr(redaction, "_REDACTORS", {})  # another process
    with pytest.raises(Error, match="not pushed"):
        push(Repo.find(), second(tmp_path))
    assert not sent(tmp_path, "second.git")


def test_what_was_refused_is_refused_again(here: Repo, tmp_path: Path) -> None:
    store(here, "aa/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    for _ in range(2):
        with pytest.raises(Error, match="not pushed"):
            push(here)
    assert not sent(tmp_path)


def test_a_note_of_what_was_searched_that_is_damaged_counts_for_nothing(
    here: Repo, tmp_path: Path
) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    push(here)
    note = Path(here.join_shared("searched"))
    first = note.read_bytes().splitlines(keepends=True)[0]
    note.write_bytes(first + b"\xff\xfe\n" + b"0" * 40 + b" " + V1.encode() + b"\n")
    store(here, "ab/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    with pytest.raises(Error, match=r"in 'ab/0000000000/0/prompt\.txt'"):
        push(here)


def test_a_secret_among_a_thousand_files_is_found_in_few_searches(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = watched(monkeypatch)
    files = {f"aa/{n:010}/0/prompt.txt": f"Do part {n}\n" for n in range(1000)}
    store_all(here, {**files, "aa/0000000777/0/prompt.txt": f"use {TOKEN}\n"})
    with pytest.raises(Error, match=r"in 'aa/0000000777/0/prompt\.txt'$"):
        push(here)
    assert len(searched) == 1


def test_a_hook_does_not_search_for_longer_than_it_may_send(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    monkeypatch.setattr(deadline, "_limits", {})
    deadline.begin()
    with pytest.raises(Error, match="too much to search"):
        push(here, seconds=0)
    monkeypatch.setattr(deadline, "_limits", {})
    with pytest.raises(Error, match="did not answer in 0 seconds"):
        push(here, seconds=0)  # a person's own command searches it all
    assert not sent(tmp_path)
    deadline.begin()
    push(here)  # and once searched, a hook sends it
    assert sent(tmp_path)


def test_the_time_of_the_remote_begins_after_the_search(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()

    def refuse(*_: object) -> None:
        monkeypatch.setattr(time, "monotonic", lambda: now + 60)

    monkeypatch.setattr(push_check, "refuse_secrets", refuse)
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    push(here, seconds=20)
    assert sent(tmp_path)
