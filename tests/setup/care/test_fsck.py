"""fsck: each promise of the stored data is broken once, and found; the safe ones are mended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.checkpoints.stored import read_checkpoint, read_session
from gitcp.checkpoints.transcripts import hash_chunks, hash_content
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.setup.care import mend_objects, stored, stored_links, table
from gitcp.setup.care.checks import BLIND
from tests.cmd.test_grammar import FORBIDDEN, QUOTED
from tests.support import warm
from tests.support.broken import MENDED, STORED, Store, cut, delete, promise
from tests.support.checkpoints import V1, git, unbundle
from tests.support.copies import plant
from tests.support.harness import World
from tests.support.paths import BIN, TOP
from tests.support.sealed import environment

ROWS = [row for rows in table.STORED.values() for row in rows]


@pytest.fixture(scope="module")
def made(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    at = tmp_path_factory.mktemp("made")
    with environment(HOME=str(at / "home")):
        world = World(Path(shutil.copytree(ground, at / "repo")), at / "home")
        agent = world.agent("s-one")
        agent.turn("Write two files", {"a.txt": "one\n", "b.txt": "two\n"})
        world.commit("a.txt")
        agent.turn("Write another", {"c.txt": "three\n"})
        world.close()
    yield world.path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    return Store(plant(made, tmp_path / "store"))


def test_a_sound_store_has_no_findings(store: Store) -> None:
    assert store.check(secrets=True) == []


def test_what_doctor_says_it_did_has_no_word_of_gitcps_own(store: Store) -> None:
    for what in (
        "a file that is gone",
        "a session's edits that are gone",
        "a line of the journal that is nothing",
        "a marker whose name is no id",
        "an object file that is empty",
        "a ref at a file",
        "a scratch directory of a killed bisection",
        "a lock of a dead process",
        "a scratch file of a dead process",
    ):
        MENDED[what][0](store)
    told = warm.run("doctor", "--fix", cwd=store.path).stdout
    done = [line for line in told.splitlines() if line.startswith("✓")]
    assert len(done) >= 9, told
    words = QUOTED.sub("", told)
    assert not FORBIDDEN.search(words), words


@pytest.mark.parametrize("what", STORED)
def test_a_broken_promise_is_found_however_little_is_read_at_once(
    store: Store, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, code, severity = STORED[what]
    broken(store)
    found = store.check()
    assert (code, severity) in [(f["kind"], f["severity"]) for f in found], found
    monkeypatch.setattr(stored, "_WINDOW", 1)
    monkeypatch.setattr(stored_links, "_LINK_WINDOW", 1)
    left = [(f["kind"], f["subject"]) for f in store.check(fix=True)]
    assert left == [(f["kind"], f["subject"]) for f in found]


@pytest.mark.parametrize("what", MENDED)
def test_a_broken_promise_is_mended_where_that_is_safe(store: Store, what: str) -> None:
    broken, code = MENDED[what]
    broken(store)
    assert code in [f["kind"] for f in store.check()]
    mended = store.check(fix=True)
    assert [f["kind"] for f in mended if f.get("repaired")] == [code], mended
    assert store.check() == []


def test_without_a_store_a_commit_whose_last_hook_was_killed_is_mended_all_the_same(
    store: Store,
) -> None:
    delete(V1)(store)
    promise(store)
    found = {item["kind"]: item for item in store.check()}
    assert set(found) == {"no-store", "dangling-trailer"}
    assert found["no-store"]["reason"] == "1 commit names a checkpoint, and none is stored here"
    mended = [item["subject"] for item in store.check(fix=True) if item.get("repaired")]
    assert (
        mended
        == [found["dangling-trailer"]["subject"]]
        == [git("rev-parse", "HEAD", cwd=store.path)]
    )


def test_every_code_is_broken_here() -> None:
    mended = {code for _, code in MENDED.values()} | {"left-out"}  # by tests/link
    codes = {code for _, code, _ in STORED.values()} | mended
    assert codes | {"secret", "absent"} == {row.code for row in ROWS}
    assert mended == {row.code for row in ROWS if row.mend}


def test_the_page_has_every_code_with_its_severity() -> None:
    page = (TOP / "man" / "gitcp-check-store.1").read_text()
    for row in (*ROWS, BLIND):
        item = f".It Cm {row.code} Pq {row.severity}{', repaired' if row.mend else ''}\n"
        assert item + row.words[0].upper() + row.words[1:] + ".\n" in page
    assert page.count(".It Cm ") == len({row.code for row in ROWS}) + 1


def test_a_rebuilt_state_has_the_work_that_was_not_committed(store: Store) -> None:
    before = json.loads(store.state.read_text())
    store.state.unlink()
    store.check(fix=True)
    after = json.loads(store.state.read_text())
    assert after["streams"] == before["streams"]
    assert after["files_touched"] == ["b.txt", "c.txt"]


def test_a_state_that_cannot_be_read_is_kept(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store.state.write_bytes(b"{")
    store.check(fix=True)
    assert [p.read_bytes() for p in (store.git_dir / "gitcp/corrupt").iterdir()] == [b"{"]
    assert "kept as" in capsys.readouterr().err


def test_a_lock_somebody_holds_is_left(store: Store) -> None:
    lock = store.git_dir / "refs/heads/entire/checkpoints/v1.lock"
    lock.write_text("")
    assert store.check(fix=True) == []
    assert lock.exists()


def test_a_file_that_is_young_again_is_put_back(store: Store) -> None:
    store.old("gitcp/tmp/1-2")
    path = store.git_dir / "gitcp/tmp/1-2"
    os.utime(path)
    assert mend_objects.remove_leftover(store.repo, str(path), 3600) == ""
    assert path.exists()


def test_the_hash_of_a_transcript_goes_on_only_from_its_own_beginning(repo: Path) -> None:
    here, hashes = Repo.find(), stored.Hashes()
    with Objects(here):
        one, two, three, other = (here.objects.write("blob", b"%d" % n) for n in range(4))
        for oids in ([one, two], [one, two, three], [one], [other, two], [other, two, three]):
            whole = b"\n".join(here.objects.need(oid, "blob") for oid in oids)
            assert hashes.compute_digest(here.objects, "s", oids) == hash_content(whole)


@pytest.mark.parametrize("name", ["0/full.jsonl", "0/prompt.txt", "0/tasks/t/agent-1.jsonl"])
def test_a_secret_is_found_and_not_shown(store: Store, name: str) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    store.put(name, f'{{"content":"token {secret}"}}\n'.encode())
    found = [f for f in store.check(secrets=True) if f["kind"] == "secret"]
    assert [f["subject"] for f in found] == [store.at.replace("/", "")]
    assert f"'{name}'" in found[0]["reason"] and "gitcp.redact-allow" in found[0]["reason"]
    assert secret not in json.dumps(found)
    assert "secret" not in [f["kind"] for f in store.check()]


def test_a_secret_in_the_history_is_found(store: Store) -> None:
    before = store.get("0/prompt.txt")
    store.put("0/prompt.txt", b"ghp_" + b"16C7e42F292c6912E7710c838347Ae178B4a\n")
    store.put("0/prompt.txt", before)
    assert [f["kind"] for f in store.check(secrets=True)] == ["secret"]


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("v1-sample", {"bad-path", "bad-hash", "bad-metadata", "bad-number"}),
        ("v1-four", {"bad-summary", "bad-metadata", "bad-path", "bad-hash"}),
    ],
)
def test_data_of_the_original_program_has_only_notes(
    tmp_path: Path, name: str, codes: set[str]
) -> None:
    found = list(table.check_store(unbundle(name, tmp_path / "r")))
    assert {f.finding.kind for f in found} == codes
    assert {f.severity for f in found} == {"note"}


def test_of_the_real_sample_every_hash_that_differs_is_told(tmp_path: Path) -> None:
    found = [f.finding for f in table.check_store(unbundle("v1-sample", tmp_path / "r"))]
    differs = {f.subject.partition("/")[0] for f in found if "content_hash.txt is" in f.reason}
    assert {"d8ab7104d00c", "ee8f793bfeb9"} <= differs
    assert "0b6786ea0065" not in differs  # its hash is right


@pytest.mark.parametrize("bare", [False, True])
def test_an_empty_repository_has_no_findings(tmp_path: Path, bare: bool) -> None:
    git("init", "-q", *(["--bare"] if bare else []), str(tmp_path / "r"))
    assert list(table.check_store(Repo.find(str(tmp_path / "r")), secrets=True)) == []


def test_a_bare_clone_and_a_linked_worktree_are_checked(store: Store, tmp_path: Path) -> None:
    store.json("metadata.json", strategy=1)
    git("clone", "-q", "--bare", str(store.path), str(tmp_path / "bare"))
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=store.path)
    linked = [f.finding.kind for f in table.check_store(Repo.find(str(tmp_path / "linked")))]
    bare = [f.finding.kind for f in table.check_store(Repo.find(str(tmp_path / "bare")))]
    assert linked == ["bad-summary"]
    assert bare == ["orphan-stream", "bad-summary"]  # states do not travel


def test_the_hash_of_a_large_piece_is_checked_like_that_of_a_small_one(store: Store) -> None:
    line = b'{"type":"user","message":{"role":"user","content":"%s"}}\n' % (b"x" * 100_000)
    store.put("0/full.jsonl", line)
    assert [f["kind"] for f in store.check()] == ["bad-hash"]
    store.put("0/content_hash.txt", hash_content(line).encode())
    assert store.check() == []


def test_a_hash_of_chunks_is_checked_by_their_ids(store: Store) -> None:
    line = b'{"type":"user","message":{"role":"user","content":"one"}}\n'
    oids = []
    for name, data in {"full.jsonl": line.strip(), "full.jsonl.001": line}.items():
        store.put(f"0/{name}", data)
        oids.append(git("rev-parse", f"{V1}:{store.at}/0/{name}", cwd=store.path))
    answers = {}
    for chunks in (oids, oids[::-1]):
        store.put("0/content_hash.txt", hash_chunks(chunks).encode())
        checkpoint = read_checkpoint(Repo.find(str(store.path)), store.cid)
        with Objects(store.repo):
            read = read_session(store.repo.objects, checkpoint, 0).hash
        answers[read] = [finding["kind"] for finding in store.check()]
    assert answers == {"match": [], "differs": ["bad-hash"]}


def test_a_repair_that_is_killed_leaves_a_damaged_pack_to_the_next_one(
    store: Store, tmp_path: Path
) -> None:
    cut(store.pack(".pack"))
    other = Path(shutil.copytree(store.path, tmp_path / "other"))
    stub = tmp_path / "git"
    kill = "case $word in unpack-objects) kill -9 $PPID; exit 1;; esac"
    stub.write_text(f'#!/bin/sh\nfor word; do {kill}; done\nexec {shutil.which("git")} "$@"\n')
    stub.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    argv = [sys.executable, str(BIN / "gitcp-fsck"), "--repair"]
    assert subprocess.run(argv, cwd=store.path, env=env).returncode == -signal.SIGKILL
    for path in (store.path, other):
        Store.check_at(path, fix=True)
    listed = ("cat-file", "--batch-check", "--batch-all-objects")
    assert git(*listed, cwd=store.path) == git(*listed, cwd=other)


def test_packs_that_are_emptied_with_all_beside_them_are_moved_away(store: Store) -> None:
    pack = store.pack(".pack")
    for end in (".pack", ".idx", ".keep"):
        path = pack.with_suffix(end)
        path.chmod(0o644)
        path.write_bytes(b"")
    assert (
        "is too small"
        in subprocess.run(["git", "fsck"], cwd=store.path, capture_output=True, text=True).stderr
    )
    Store.check_at(store.path, fix=True)
    told = subprocess.run(["git", "fsck"], cwd=store.path, capture_output=True, text=True).stderr
    assert "too small" not in told and not pack.exists()
