"""The check before a push: a secret that got onto the branch does not leave."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gitcp import git as git_module
from gitcp.checkpoints import redactor
from gitcp.checkpoints.redact import Redactor
from gitcp.checkpoints.share import remote as share_remote
from gitcp.checkpoints.share import sync
from gitcp.errors import Error
from gitcp.git import refs
from gitcp.git.objects import Objects, edit_tree, write_commit
from gitcp.git.repo import Repo
from tests.support.checkpoints import V1, find_place, git
from tests.support.warm import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.redact.json_values import Secret

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
    with Objects(repo):
        tip = refs.read_ref(repo, V1)
        before = repo.objects.read(f"{tip}^{{tree}}") if tip else None
        blobs = {p: ("100644", repo.objects.write("blob", s.encode())) for p, s in files.items()}
        tree = edit_tree(repo.objects, before[0] if before else None, blobs)
        made = write_commit(repo, tree, [tip] if tip else [], "Checkpoint: x")
        refs.update_refs(repo, [(V1, made, tip)], "test")


def push(repo: Repo, remote: str = "origin", seconds: float = 30) -> None:
    """As the command does: what can be sent is, then what is held back is an error."""
    with Objects(repo):
        held = sync.push_store(repo, find_place(repo, remote), seconds).held
    if held:
        raise Error(share_remote.explain(held))


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
    with pytest.raises(Error, match=f"not pushed: .* aa0000000000 .* in '0/{name}'"):
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
    monkeypatch.setattr(redactor, "_REDACTORS", {})  # another process
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
    with pytest.raises(Error, match=r"ab0000000000 .* in '0/prompt\.txt'"):
        push(here)


def test_what_an_older_gitcp_has_searched_is_searched_again(here: Repo) -> None:
    store(here, "ab/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    note = Path(here.join_shared("searched"))
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(f"{share_remote.hash_rules(here)}\n{git('rev-parse', V1)} {V1}\n")
    with pytest.raises(Error, match="ab0000000000"):
        push(here)


def test_a_secret_stays_here_whatever_a_crash_leaves_of_what_was_found(here: Repo) -> None:
    store(here, "ab/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    with pytest.raises(Error, match="ab0000000000"):
        push(here)
    note = Path(here.join_shared("searched"))
    lines = note.read_text().splitlines(keepends=True)
    for count in range(len(lines)):
        note.write_text("".join(lines[:count]))
        with pytest.raises(Error, match="ab0000000000"):
            push(here)


def test_a_secret_among_a_thousand_files_is_found_in_few_searches(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = watched(monkeypatch)
    files = {f"aa/{n:010}/0/prompt.txt": f"Do part {n}\n" for n in range(1000)}
    store_all(here, {**files, "aa/0000000777/0/prompt.txt": f"use {TOKEN}\n"})
    with pytest.raises(Error, match=r"aa0000000777 .* in '0/prompt\.txt'"):
        push(here)
    assert len(searched) == 1


def test_a_hook_does_not_search_for_longer_than_it_may_send(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    monkeypatch.setattr(git_module, "_limits", {})
    git_module.begin_deadline()
    with pytest.raises(Error, match="too much to search"):
        push(here, seconds=0)
    monkeypatch.setattr(git_module, "_limits", {})
    with pytest.raises(Error, match="did not answer in 0 seconds"):
        push(here, seconds=0)  # a person's own command searches it all
    assert not sent(tmp_path)
    git_module.begin_deadline()
    push(here)  # and once searched, a hook sends it
    assert sent(tmp_path)


def test_the_time_of_the_remote_begins_after_the_search(
    here: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()

    def search(*_: object) -> dict[str, str]:
        monkeypatch.setattr(time, "monotonic", lambda: now + 60)
        return {}

    monkeypatch.setattr(share_remote, "search_new", search)
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    push(here, seconds=20)
    assert sent(tmp_path)


def ids_there(tmp_path: Path) -> list[str]:
    listed = git("ls-tree", "-r", "--name-only", V1, cwd=tmp_path / "bare.git").split()
    return sorted({path[:2] for path in listed})


def test_a_finding_holds_back_its_own_checkpoint_alone(here: Repo, tmp_path: Path) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    store(here, "ab/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    store(here, "ac/0000000000/0/prompt.txt", "and so on\n")
    with pytest.raises(Error, match=r"ab0000000000 .*'gitcp forget ab0000000000'"):
        push(here)
    assert ids_there(tmp_path) == ["aa", "ac"]
    store(here, "ad/0000000000/0/prompt.txt", "later\n")
    with pytest.raises(Error, match="redact-allow"):
        push(here)
    assert ids_there(tmp_path) == ["aa", "ac", "ad"]
    objects = git("rev-list", "--objects", "--all", cwd=tmp_path / "bare.git")
    assert "ab/0000000000" not in objects
    git("config", "gitcp.redact-allow", "ghp_")
    allowing = Repo.find()
    redactor._REDACTORS.clear()
    push(allowing)
    assert ids_there(tmp_path) == ["aa", "ab", "ac", "ad"]
    assert git("rev-parse", V1, cwd=tmp_path / "bare.git") == git("rev-parse", V1)


def test_what_the_remote_has_of_a_checkpoint_stays_while_its_next_version_is_held_back(
    here: Repo, tmp_path: Path
) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    push(here)
    store(here, "aa/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    store(here, "ab/0000000000/0/prompt.txt", "and so on\n")
    with pytest.raises(Error, match="aa0000000000"):
        push(here)
    assert ids_there(tmp_path) == ["aa", "ab"]
    assert git("show", f"{V1}:aa/0000000000/0/prompt.txt", cwd=tmp_path / "bare.git") == "hello"
    store(here, "aa/0000000000/0/prompt.txt", "REDACTED\n")
    push(here)
    bare = tmp_path / "bare.git"
    assert git("show", f"{V1}:aa/0000000000/0/prompt.txt", cwd=bare) == "REDACTED"
    assert TOKEN not in git("log", "--all", "-p", cwd=bare)


def test_of_checkpoints_with_refs_only_the_one_with_the_secret_stays(
    here: Repo, tmp_path: Path
) -> None:
    for name, words in (("aa0000000000", "hello"), ("ab0000000000", f"use {TOKEN}")):
        with Objects(here):
            blob = here.objects.write("blob", words.encode())
            tree = edit_tree(here.objects, None, {"0/prompt.txt": ("100644", blob)})
            made = write_commit(here, tree, [], "x")
            refs.update_refs(here, [(f"refs/entire/checkpoints/00/{name}", made, None)], "x")
    with pytest.raises(Error, match=r"ab0000000000 .* in '0/prompt\.txt'"):
        push(here)
    sent_refs = git("for-each-ref", "--format=%(refname)", "refs/entire", cwd=tmp_path / "bare.git")
    assert sent_refs == "refs/entire/checkpoints/00/aa0000000000"


def test_findings_that_are_lost_are_searched_for_again(here: Repo, tmp_path: Path) -> None:
    store(here, "aa/0000000000/0/prompt.txt", "hello\n")
    store(here, "ab/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    for _ in range(2):
        with pytest.raises(Error, match="ab0000000000"):
            push(here)
        Path(here.join_shared("searched")).unlink()
    assert ids_there(tmp_path) == ["aa"]


def test_what_is_held_back_is_said_by_status_doctor_and_fsck_alike(here: Repo) -> None:
    store(here, "ab/0000000000/0/prompt.txt", f"use {TOKEN}\n")
    pushed = run("push", "origin")
    assert pushed.stdout == "nothing was sent to 'origin', which lacks 1 checkpoint\n"
    said = pushed.stderr
    words = "what looks like a secret"
    for told in (
        said,
        run("status").stdout,
        run("doctor").stdout,
        run("fsck", "--secrets").stdout,
    ):
        assert words in told and "'0/prompt.txt'" in told, told
        assert "gitcp.redact-allow" in told and "'gitcp forget ab0000000000'" in told, told
        assert TOKEN not in told
    assert run("forget", "--yes", "ab0000000000").returncode == 0
    assert words not in run("status").stdout + run("doctor").stdout
    assert run("push", "origin").returncode == 0


PATH = "~/.claude/projects/-home-Bob-R2D2-X1-aZ9k-Q7Lm/%s.jsonl"


@pytest.mark.parametrize("token", ["", TOKEN], ids=["none", "token"])
@pytest.mark.parametrize("key", ["transcript_path", "branch", "files_touched", "files"])
def test_names_are_secret_by_a_known_form_alone_in_each_check(
    here: Repo, key: str, token: str
) -> None:
    name = token or PATH % "0fA9-bX7cQ2LmZp4Rk8Wt"
    value = {"files_touched": [name], "files": {name: {"mode": "100644"}}}.get(key, name)
    store(here, "ab/0000000000/0/metadata.json", json.dumps({key: value, "session_id": "s"}))
    assert run("push", "origin").returncode == (128 if token else 0)
    assert ("looks like a secret" in run("fsck", "--secrets").stdout) == bool(token)
    assert ("looks like a secret" in run("doctor").stdout) == bool(token)


def test_prompts_in_gitcps_own_documents_are_searched_as_text(here: Repo) -> None:
    word = "aB3xK9pQ2mZ7vR4tL8wN6yC1dF5gH0jS"
    metadata = {"files": {"one.py": {"prompt": f"use {word}"}}}
    store(here, "ab/0000000000/0/metadata.json", json.dumps(metadata))
    assert run("push", "origin").returncode == 128
