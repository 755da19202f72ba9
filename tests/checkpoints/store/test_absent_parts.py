"""Readers of the store give what is there, say what is not, and go on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp.checkpoints import writing
from gitcp.checkpoints.share import sync
from gitcp.checkpoints.transcripts import store_chunks
from gitcp.git import refs
from gitcp.git.objects import Objects, edit_tree, need_commit, write_commit
from gitcp.git.repo import Repo
from tests.support import warm
from tests.support.checkpoints import V1, find_place, forget, git, loose, loosened, session
from tests.support.copies import plant
from tests.support.sealed import environment

FIRST, SECOND, THIRD = (f"{n}a{n}b00000000" for n in (1, 2, 3))
AT = f"{SECOND[:2]}/{SECOND[2:]}"
NOWHERE = "1" * 40
READERS = [
    ["list-checkpoints"],
    ["list-sessions"],
    ["read-checkpoint", FIRST, SECOND, THIRD],
    ["log", "--json"],
    ["show", "--json", SECOND],
]


@pytest.fixture(scope="module")
def ground(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Three commits with a checkpoint each, of two sessions; no object is packed."""
    repo = Path(shutil.copytree(template, tmp_path_factory.mktemp("stored") / "repo"))
    with environment() as patch:
        patch.chdir(repo)
        store(Repo.find())
    loosened(repo / ".git")
    yield repo


@pytest.fixture
def stored(ground: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A copy of it, to stand in."""
    monkeypatch.chdir(plant(ground, tmp_path / "repo"))
    return Repo.find()


def store(here: Repo) -> None:
    """Write the checkpoints, and commits that name them."""
    for cid in (FIRST, SECOND, THIRD):
        with Objects(here):
            items = []
            for name in ("s-one", "s-two"):
                data = session(name)
                data["transcript"] = store_chunks(
                    here.objects, b'{"of":"%s %s"}\n' % (cid.encode(), name.encode())
                )
                items.append((cid, data))
            writing.write_sessions(here, items)
        git("commit", "-q", "--allow-empty", "-m", f"x\n\nEntire-Checkpoint: {cid}")


def run(*args: str, env: dict[str, str] | None = None) -> tuple[int, list[dict[str, object]], str]:
    """(status, records, what it says besides) of a command."""
    done = warm.command(args[0], args[1:], Path.cwd(), {**os.environ, **(env or {})})
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, records, done.stderr.decode()


def put(repo: Repo, path: str, mode: str, oid: str) -> None:
    """Put an entry of any kind onto the branch."""
    with Objects(repo):
        tip = need_commit(repo.objects, V1)
        tree = edit_tree(repo.objects, tip["tree"], {path: (mode, oid)})
        commit = write_commit(repo, tree, [tip["oid"]], "by a stranger")
        refs.update_refs(repo, [(V1, commit, tip["oid"])], "test")


def gone(spec: str) -> Callable[[Repo], None]:
    def take(repo: Repo) -> None:
        oid = git("rev-parse", spec)
        forget(Path(repo.common), oid)

    return take


def odd(path: str, mode: str, kind: str = "blob") -> Callable[[Repo], None]:
    def change(repo: Repo) -> None:
        oid = NOWHERE
        if mode != "160000":
            options = "-w", "--literally", "--stdin", "-t", kind
            oid = git("hash-object", *options, stdin="../../secrets")
        put(repo, path, mode, oid)

    return change


ODD = {
    "a transcript is gone": gone(f"{V1}:{AT}/0/full.jsonl"),
    "metadata is gone": gone(f"{V1}:{AT}/1/metadata.json"),
    "prompts are gone": gone(f"{V1}:{AT}/0/prompt.txt"),
    "a summary is gone": gone(f"{V1}:{AT}/metadata.json"),
    "a session's directory is gone": gone(f"{V1}:{AT}/0"),
    "a checkpoint's directory is gone": gone(f"{V1}:{AT}"),
    "a shard is gone": gone(f"{V1}:{AT[:2]}"),
    "a file stands for a shard": odd(AT[:2], "100644"),
    "a link stands for a checkpoint": odd(AT, "120000"),
    "a submodule stands for a checkpoint": odd(AT, "160000"),
    "a submodule stands for a transcript": odd(f"{AT}/0/full.jsonl", "160000"),
    "a link stands for metadata": odd(f"{AT}/0/metadata.json", "120000"),
    "a tree that is none": odd(AT, "040000", "tree"),
    "metadata that is none": odd(f"{AT}/metadata.json", "100644"),
}
# What a reader does not look at is none of its business.
WITHOUT = {
    "list-checkpoints": ("transcript", "prompts"),
    "list-sessions": ("transcript", "prompts"),
    "log": ("transcript",),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda args: args[0])
@pytest.mark.parametrize("what", ODD)
def test_one_absent_or_odd_entry_hides_nothing_else(
    stored: Repo, what: str, reader: list[str]
) -> None:
    ODD[what](stored)
    status, records, said = run(*reader)
    assert "Traceback" not in said
    if not any(word in what for word in WITHOUT.get(reader[0], ())):
        assert status in (1, 128) if reader[0] == "show" else status == 1, said
        # Where sessions share a blob, the first of them is the example.
        assert SECOND in said or f"{V1}:{AT[:2]}" in said or "such as checkpoint" in said
    if reader[0] != "show":
        found = json.dumps(records)
        assert FIRST in found and THIRD in found


@pytest.mark.parametrize("what", ODD)
def test_fsck_names_it_and_checks_the_rest(stored: Repo, what: str) -> None:
    ODD[what](stored)
    status, records, said = run("check-store", "--json")
    assert (status, said) == (1, "")
    kinds = {record["kind"] for record in records}
    assert kinds & {
        "broken-store",
        "missing-object",
        "stray",
        "bad-summary",
        "bad-metadata",
        "bad-chunk",
    }


def test_of_a_session_that_lacks_a_piece_the_rest_is_read(stored: Repo) -> None:
    gone(f"{V1}:{AT}/0/full.jsonl")(stored)
    _, (checkpoint, one, two), _ = run("read-checkpoint", SECOND)
    assert "0/full.jsonl: missing blob" in json.dumps(one["lacks"])
    assert one["prompts"] == ["do it, s-one"]
    assert "lacks" not in two and two["hash"] == "match"
    assert "lacks" not in checkpoint


def test_an_unknown_id_does_not_keep_back_the_others(stored: Repo) -> None:
    status, records, said = run("read-checkpoint", FIRST, "ffff", THIRD)
    assert (status, len(records)) == (1, 6)
    assert "no such checkpoint: 'ffff'" in said


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_what_a_person_asks_for(
    stored: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for key in ("allowFilter", "allowAnySHA1InWant"):
        git("config", f"uploadpack.{key}", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", f"--filter={kind}", f"file://{stored.worktree}", str(clone))
    monkeypatch.chdir(clone)
    status, _, said = run("list-checkpoints")  # a stage asks no remote
    assert status == 1 and said.endswith("'gitcp fetch --all' may bring more\n")
    for reader in (["log", "--json"], ["show", "--json", SECOND]):
        status, records, _ = run(*reader)
        assert status == 0 and SECOND in json.dumps(records), reader
    assert warm.run("fetch", "--all").returncode == 0
    for reader in READERS:
        status, records, said = run(*reader)
        assert (status, said) == (0, ""), reader
        assert SECOND in json.dumps(records)


def test_transcripts_that_are_not_here_are_counted_in_a_line_and_fetched_by_one_command(
    stored: Repo, tmp_path: Path
) -> None:
    whole = plant(Path(stored.worktree), tmp_path / "whole")
    for cid in (FIRST, SECOND):
        gone(f"{V1}:{cid[:2]}/{cid[2:]}/0/full.jsonl")(stored)
    lacking = warm.run("search", "w0001")
    assert lacking.returncode == 1 and lacking.stderr.count("warning: ") == 1
    assert "2 conversations are not here, such as checkpoint" in lacking.stderr
    assert "'gitcp fetch --all'" in lacking.stderr
    assert warm.run("search", "w0001").stderr == lacking.stderr  # it is said each time
    fetched = warm.run("fetch", "--all", str(whole))
    assert (fetched.returncode, fetched.stderr) == (0, "fetched 2 missing parts of checkpoints\n")
    found = warm.run("search", "w0001")
    assert "warning" not in found.stderr
    assert warm.run("read-checkpoint", FIRST, SECOND).returncode == 0


def test_what_the_remote_lacks_as_well_is_counted(stored: Repo, tmp_path: Path) -> None:
    gone(f"{V1}:{AT}/0/full.jsonl")(stored)
    other = plant(Path(stored.worktree), tmp_path / "other")
    gone(f"{V1}:{AT}/1/full.jsonl")(stored)
    fetched = warm.run("fetch", "--all", str(other))
    assert fetched.returncode == 1
    assert "fetched 1 missing part of checkpoints" in fetched.stderr
    assert "lacks 1 part of checkpoints, too" in fetched.stderr


@pytest.fixture
def partial(stored: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone that left file contents with its remote; the current directory of the test."""
    git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", "--filter=blob:none", f"file://{stored.worktree}", str(clone))
    monkeypatch.chdir(clone)
    return clone


@pytest.mark.parametrize(
    "words",
    [
        *(["search", "w0001"], ["fsck"], ["fsck", "--json"], ["doctor"], ["doctor", "--fix"]),
        *(
            ["relink"],
            ["status"],
            ["sessions"],
            ["du"],
            ["verify", "HEAD~2..HEAD"],
            ["clean", "-n"],
        ),
        *(["check", "HEAD~2..HEAD"], ["list-checkpoints"], ["read-checkpoint", FIRST], ["undo"]),
        *(["link", SECOND, "HEAD~1"], ["unlink", "HEAD~1"], ["rewind", "--list"], ["config"]),
        *(["show", "--offline", SECOND], ["import", "-n"], ["enable"], ["list-orphans"]),
    ],
    ids=" ".join,
)
def test_no_command_contacts_the_remote_of_a_partial_clone_by_itself(
    partial: Path, tmp_path: Path, words: list[str]
) -> None:
    asked, server = tmp_path / "asked", tmp_path / "server"
    server.write_text(f'#!/bin/sh\necho . >>{asked}\nexec git-upload-pack "$@"\n')
    server.chmod(0o755)
    git("config", "remote.origin.uploadpack", str(server))
    git("update-ref", V1, f"refs/remotes/origin/{V1.removeprefix('refs/heads/')}")
    done = warm.run(*words)
    for words_of_git in ("Traceback", "promisor", "lazy fetch", "not allowed"):
        assert words_of_git not in done.stderr
    assert not asked.exists(), done.stderr
    git("log", "-p", "--all")  # git itself does
    assert asked.exists()


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_without_the_remote_a_partial_clone_tells_what_it_lacks(
    stored: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    git("config", "uploadpack.allowFilter", "true")
    git("clone", "-q", "-n", f"--filter={kind}", f"file://{stored.worktree}", str(tmp_path / "c"))
    git("config", "remote.origin.url", str(tmp_path / "nowhere"), cwd=tmp_path / "c")
    monkeypatch.chdir(tmp_path / "c")
    for reader in READERS[:-1]:
        status, _, said = run(*reader)
        assert status == 1 and "Traceback" not in said, reader
    for name in ("du", "check-store", "status"):
        status, _, said = run(name, "--json")
        assert status in (0, 1) and "Traceback" not in said


@pytest.mark.parametrize("words", [(), ("--with", "codex"), ("--worktree", "beside")])
def test_a_conversation_that_was_left_with_a_lost_remote_is_not_resumed(
    partial: Path, stored: Repo, tmp_path: Path, words: tuple[str, ...]
) -> None:
    os.rename(str(stored.worktree), tmp_path / "away")
    for name in ("HEAD", SECOND):
        done = warm.run("resume", *words, name)
        errors = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
        [_fetching, said] = errors
        cid = SECOND if name == SECOND else THIRD
        assert said == f"fatal: the conversations of checkpoint '{cid}' are not here"
        assert (done.returncode, done.stdout) == (128, "")
        assert "metadata.json: missing blob" in done.stderr
        assert not os.path.exists("beside")


@pytest.mark.parametrize("reader", [("log",), ("recap", "--since=2000-01-01")])
def test_a_remote_that_cannot_be_reached_is_asked_once(
    partial: Path, stored: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: list[str]
) -> None:
    os.rename(str(stored.worktree), tmp_path / "away")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    done = warm.run(*reader)
    said = [line for line in done.stderr.splitlines() if "are not here" in line]
    assert done.returncode == 1 and len(said) == len(set(said)) > 0, done.stderr
    started = [json.loads(line).get("argv", []) for line in trace.read_text().splitlines()]
    fetches = [argv for argv in started if argv[:1] == ["git"] and "fetch" in argv]
    assert len({tuple(argv) for argv in fetches}) == len(fetches) == 1, fetches


def test_what_a_partial_clone_left_with_its_remote_is_no_loss(
    partial: Path, tmp_path: Path
) -> None:
    here = Repo.find()
    with Objects(here):
        writing.write_sessions(here, [("4a4b00000000", session("s-own"))])
    status, records, _ = run("check-store", "--json")
    assert {(record["kind"], record["severity"]) for record in records} == {("absent", "note")}
    assert status == 0
    assert "?" in git("rev-list", "--objects", "--missing=print", V1)
    for keep in list((partial / ".git/objects/pack").glob("*.keep")):  # what was written here
        for end in (".pack", ".idx", ".keep"):
            keep.with_suffix(end).rename(tmp_path / f"own{end}")
        with (tmp_path / "own.pack").open("rb") as f:
            subprocess.run(["git", "unpack-objects", "-q"], stdin=f, check=True)
    loose(partial / ".git", git("rev-parse", f"{V1}:4a/4b00000000/metadata.json")).unlink()
    _, records, _ = run("check-store", "--json")
    (broken,) = (record for record in records if record["kind"] == "broken-store")
    assert broken["reason"] == "lacks 1 object"


def test_a_search_before_a_push_fetches_nothing_that_a_partial_clone_left_out(
    stored: Repo, partial: Path
) -> None:
    here = Repo.find()
    with Objects(here):
        writing.write_sessions(here, [("4a4b00000000", session("s-own"))])
        sync.push_store(here, find_place(here, "origin"), 30)
    assert git("rev-parse", V1, cwd=stored.worktree) == git("rev-parse", V1)


def test_a_hook_never_fetches(stored: Repo, tmp_path: Path) -> None:
    for key in ("allowFilter", "allowAnySHA1InWant"):
        git("config", f"uploadpack.{key}", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", "-n", "--filter=blob:none", f"file://{stored.worktree}", str(clone))
    tip = git("rev-parse", f"{V1}:{AT}/0/full.jsonl")
    with Objects(Repo.find(str(clone))) as objects:
        assert objects.read(tip) is None
        assert objects.read("HEAD") is not None
    assert tip not in git("cat-file", "--batch-all-objects", "--batch-check", cwd=clone)


def test_a_log_reads_metadata_alone_where_one_prompt_made_the_whole_commit(repo: Path) -> None:
    here, data = Repo.find(), session("s-one")
    with Objects(here):
        data["transcript"] = store_chunks(here.objects, b'{"of":"one"}\n')
        data["metadata"]["files"] = {
            path: {"turn_id": "t1", "prompt": "do it"} for path in ("a", "b")
        }
        writing.write_sessions(here, [(SECOND, data)])
    git("commit", "-q", "--allow-empty", "-m", f"x\n\nEntire-Checkpoint: {SECOND}")
    before = run("log", "--json", "-1")
    (checkpoint,) = json.loads(json.dumps(before[1]))[0]["checkpoints"]
    assert checkpoint["contents"][0]["asked"] == ["do it"] and before[0] == 0
    for name in ("metadata.json", "0/prompt.txt"):
        gone(f"{V1}:{AT}/{name}")(here)
    assert run("log", "--json", "-1") == before


@pytest.mark.parametrize("value", [3, {"a": 3}])
def test_facts_of_any_form_are_no_crash(stored: Repo, value: object) -> None:
    """Whoever may push can put there what no program writes."""
    keys = ("strategy", "branch", "created_at", "files")
    for path in (f"{AT}/metadata.json", f"{AT}/0/metadata.json"):
        metadata = {**json.loads(git("show", f"{V1}:{path}")), **dict.fromkeys(keys, value)}
        with Objects(stored):
            put(stored, path, "100644", stored.objects.write("blob", json.dumps(metadata).encode()))
    for args in (["show", SECOND], ["check-store"]):
        done = warm.command(args[0], args[1:], Path.cwd(), dict(os.environ))
        assert b"Traceback" not in done.stderr
        assert SECOND.encode() in done.stdout or b"  > do it, s-one" in done.stdout
