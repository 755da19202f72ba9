"""A permanent store that anybody may have pushed: merged and read in bounded work, never obeyed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.checkpoints import format, merging, stored, writing
from gitcp.checkpoints.share import sync
from gitcp.git import refs
from gitcp.git.objects import TREE, Objects, edit_tree, need_commit, write_commit, write_tree
from gitcp.git.repo import Repo
from gitcp.text import console
from tests.support.checkpoints import V1, blob, find_place, git, session, tree
from tests.support.paths import TOP

CID, OTHER = "aa0000000000", "bb0000000000"
AT = "aa/0000000000"
TREES = dict[str, tuple[str, str]]


@pytest.fixture
def here(repo: Path, tmp_path: Path) -> Repo:
    """A clone whose remote holds nothing yet."""
    bare = str(tmp_path / "bare.git")
    git("clone", "-q", "--bare", str(repo), bare)
    git("remote", "add", "origin", bare)
    return Repo.find()


def metadata(sid: str, **more: object) -> bytes:
    known = {"checkpoint_id": CID, "session_id": sid, "created_at": "2026-01-01T00:00:00Z"}
    return json.dumps({**known, **more}).encode()


def theirs(here: Repo, files: dict[str, bytes], more: TREES | None = None) -> None:
    """The remote's branch has these files, and these trees by path, besides a session of CID."""
    with Objects(here):
        files = {
            f"{AT}/metadata.json": metadata(""),
            f"{AT}/0/metadata.json": metadata("t"),
            **files,
        }
        edits = {path: ("100644", here.objects.write("blob", data)) for path, data in files.items()}
        made = edit_tree(here.objects, None, {**edits, **(more or {})})
        commit = write_commit(here, made, [], "Checkpoint: x")
    git("push", "-q", "-f", git("remote", "get-url", "origin"), f"{commit}:{V1}")


def write(here: Repo, cid: str = CID, sid: str = "mine") -> None:
    with Objects(here):
        writing.write_sessions(here, [(cid, session(sid))])


def push(here: Repo) -> set[str]:
    """Push; the sessions that the remote's checkpoint CID has then."""
    with Objects(here):
        sync.push_store(here, find_place(here, "origin"), 60)
        sessions = stored.list_session_ids(here, CID)
    return set(sessions)


def bomb(objects: Objects, leaf: str, levels: int = 12) -> tuple[str, str]:
    """A few small trees that pretend to ten to the power of levels files."""
    entry = ("100644", objects.write("blob", leaf.encode()))
    for _ in range(levels):
        entry = (TREE, write_tree(objects, {f"n{n}": entry for n in range(10)}))
    return entry


STRAYS = {"README.md": b"hi", "src/x.py": b"x", "zz/0000000000/0/metadata.json": b"{}"}


def test_what_lies_beside_the_checkpoints_is_not_merged_in(here: Repo, tmp_path: Path) -> None:
    theirs(here, {**STRAYS, "aa/nothing": b"n", f"{AT}/note.txt": b"kept"})
    write(here)
    assert push(here) == {"t", "mine"}
    there = {"/".join(path.split("/")[:3]) for path in tree(V1, tmp_path / "bare.git")}
    assert there == {f"{AT}/{name}" for name in ("0", "1", "metadata.json", "note.txt")}


def test_nor_is_it_pushed_on_where_ours_only_follows(here: Repo) -> None:
    theirs(here, STRAYS)
    with Objects(here):
        sync.fetch_store(here, find_place(here, "origin"), 60)
    assert {path[:13] for path in tree()} == {AT}


def test_nor_where_the_branch_goes_on_from_a_remotes(here: Repo) -> None:
    theirs(here, STRAYS)
    git("fetch", "-q", "origin", f"{V1}:refs/remotes/origin/entire/checkpoints/v1")
    write(here, OTHER)
    assert {path[:13] for path in tree()} == {AT, "bb/0000000000"}


def test_what_both_sides_have_beside_the_checkpoints_stays(here: Repo) -> None:
    theirs(here, STRAYS)
    git("fetch", "-q", "origin", f"{V1}:{V1}")
    write(here, OTHER)
    theirs(here, {**STRAYS, "more": b"m"})
    push(here)
    assert set(tree()) >= set(STRAYS) and "more" not in tree()


def test_a_document_that_is_too_large_is_kept_and_not_taken_apart(here: Repo) -> None:
    large = metadata("large", x="x" * (5 << 20))
    theirs(here, {f"{AT}/1/metadata.json": large})
    write(here)
    assert push(here) >= {"t", "mine"}
    assert large in {blob(f"{V1}:{AT}/{number}/metadata.json") for number in range(3)}


def test_of_more_sessions_than_anybody_has_the_other_side_stays(
    here: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_SESSIONS", 5)
    theirs(here, {f"{AT}/{number}/metadata.json": metadata(f"t{number}") for number in range(9)})
    write(here)
    assert push(here) == {"mine"}


def test_of_one_merge_only_so_much_is_read_and_that_is_said_once(
    here: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_ALL", 3000)
    many = {f"aa/000000000{n}/0/metadata.json": metadata(f"t{n}", x="x" * 999) for n in range(9)}
    theirs(here, many)
    for number in range(9):
        write(here, f"aa000000000{number}")
    with console.Collected() as left_out:
        push(here)
    assert set(left_out) == {merging._CUT}
    assert {path[:13] for path in tree()} == {path[:13] for path in many}
    kept = [path for path in tree() if path.endswith("/metadata.json") and path.count("/") == 3]
    assert len(kept) < 18  # some were taken apart, of the others one side stayed


@pytest.mark.parametrize("at", ["tasks", "0/more", "1"])
def test_a_tree_that_pretends_to_endless_files_ends(here: Repo, at: str) -> None:
    write(here)
    with Objects(here):
        tip = need_commit(here.objects, V1)
        one, two = (
            edit_tree(here.objects, tip["tree"], {f"{AT}/{at}": bomb(here.objects, leaf)})
            for leaf in ("one", "two")
        )
        united = merging.Union(here.objects).unite_stores(one, two)
        commit = write_commit(here, united, [tip["oid"]], "Checkpoint: x")
        refs.update_refs(here, [(V1, commit, tip["oid"])], "test")
        assert "mine" in stored.list_session_ids(here, CID)
    for name, *given in (["read-checkpoint", CID], ["show", CID], ["list-checkpoints"], ["fsck"]):
        argv = [sys.executable, str(TOP / "bin" / f"gitcp-{name}"), *given]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode in (0, 1), done


def test_directories_nested_without_end_do_not_stop_a_push(here: Repo) -> None:
    with Objects(here):
        deep = ("100644", here.objects.write("blob", b"x"))
        for _ in range(1500):
            deep = (TREE, write_tree(here.objects, {"d": deep}))
    theirs(here, {}, {f"{AT}/0/d": deep, "d": deep})
    write(here)
    assert push(here) == {"t", "mine"}


@pytest.mark.parametrize("data", [b'{"a":' * 990 + b"1" + b"}" * 990, b"[" * 10**6])
def test_json_nested_deeper_than_any_program_does_it_is_no_json(data: bytes) -> None:
    assert format.parse_json(b'{"x": %s}' % data) is None


def test_brackets_in_a_text_are_no_nesting() -> None:
    assert format.parse_json(json.dumps({"x": '{["\\' * 999}).encode())


def test_what_is_no_note_is_left_out_and_endless_notes_end(repo: Path) -> None:
    here = Repo.find(str(repo))
    with Objects(here):
        note = ("100644", here.objects.write("blob", b"Entire-Checkpoint: aa0000000000\n"))
        mine = edit_tree(here.objects, None, {"1" * 40: note})
        strange = {"README": note, "2" * 40: note, "ab/cd": note, "n": bomb(here.objects, "x")}
        hostile = edit_tree(here.objects, None, strange)
        united = merging.merge_note_trees(here.objects, mine, hostile, join=merging.unite_lines)
    assert set(tree(united)) == {f"{n}{n}/{n * 38}" for n in "12"}


def test_at_a_terminal_records_hold_nothing_it_would_obey(here: Repo) -> None:
    branch = "a\u202eb\x9bc\x7f\U000e0001 é 👩\u200d💻"
    with Objects(here):
        writing.write_sessions(here, [(CID, session("s", branch=branch))])
    argv = [sys.executable, str(TOP / "bin" / "gitcp-list-checkpoints")]
    master, slave = os.openpty()
    subprocess.run(argv, stdout=slave, check=True)
    os.close(slave)
    with open(master, "rb") as terminal:
        line = terminal.readline().decode().rstrip("\r\n")
    assert json.loads(line)["branch"] == branch
    assert line.replace("\u200d", "").isprintable()
    assert "👩\u200d💻" in line
