"""gitcp-du: bytes of ours, each object once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.checkpoints import writing
from gitcp.checkpoints.transcripts import store_chunks
from gitcp.cmd.care import du
from gitcp.git import refs
from gitcp.git.objects import Objects, edit_tree, write_commit
from gitcp.git.repo import Repo
from gitcp.setup.care import space, space_sums
from gitcp.setup.care.space_sums import Sum
from tests.support.checkpoints import V1, forget, git, loosened, session, unbundle
from tests.support.paths import TOP


def sums(repo: Repo, by: str = "kind") -> dict[str, int]:
    return {name: size for name, size, _ in space_sums.sum_items(space.list_items(repo), by, 0)}


def noise(size: int) -> bytes:
    """Bytes that do not compress, the same each time."""
    return random.Random(size).randbytes(size).hex().encode()[:size]


def stream(repo: Repo, ref: str, files: dict[str, bytes], session_id: str = "s-one") -> None:
    """A temporary checkpoint on HEAD with these files changed."""
    with Objects(repo):
        head = git("rev-parse", "HEAD", cwd=repo.top)
        entries = {
            path: ("100644", repo.objects.write("blob", data)) for path, data in files.items()
        }
        tree = edit_tree(repo.objects, git("rev-parse", "HEAD^{tree}", cwd=repo.top), entries)
        message = f"x\n\nEntire-Session: {session_id}\nBase-Commit: {head}"
        refs.update_refs(repo, [(ref, write_commit(repo, tree, [], message), None)], "test")


@pytest.mark.parametrize("by", ["kind", "session", "age"])
def test_the_sums_of_the_real_sample_are_what_git_says(tmp_path: Path, by: str) -> None:
    repo = unbundle("v1-sample", tmp_path / "r")
    all_of_it = int(git("rev-list", "--disk-usage", "--objects", "--all", cwd=repo.top))
    assert sum(sums(repo, by).values()) == all_of_it


def test_transcripts_of_the_real_sample_are_told_from_the_rest(tmp_path: Path) -> None:
    repo = unbundle("v1-sample", tmp_path / "r")
    rows = git("ls-tree", "-r", V1, cwd=repo.top).splitlines()
    oids = {row.split()[2] for row in rows if row.endswith("full.jsonl")}
    form = "--batch-check=%(objectsize:disk)"
    sizes = git("cat-file", form, cwd=repo.top, stdin="\n".join(oids)).split()
    assert sums(repo)["transcripts"] == sum(map(int, sizes))
    assert sums(repo, "session")["af74d9e0-6474-4284-85e7-2edd27abf21e"] > 1 << 20


@pytest.mark.parametrize("window", [1, 20_000])
def test_a_shared_piece_counts_once_and_for_the_permanent_store(
    repo: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "_WINDOW", window)  # objects whose sizes are asked for at once
    here = Repo.find()
    said = noise(100_000) + b"\n"
    with Objects(here):
        for n in range(3):
            data = session("s-one")
            data["transcript"] = store_chunks(here.objects, said)
            writing.write_sessions(here, [(f"{n:012x}", data)])
    once = sums(here)["transcripts"]
    assert 50_000 < once < 110_000
    held = {".entire/metadata/s-one/full.jsonl": said.removesuffix(b"\n"), "x": noise(3000)}
    stream(here, "refs/heads/entire/1234567-e3b0c4", held)
    found = sums(here)
    assert found["streams"] < 60_000 + 5000
    stream(here, "refs/heads/entire/1234568-e3b0c4", {"y": said})
    assert sums(here)["transcripts"] == once


def test_what_is_the_persons_does_not_count(repo: Path) -> None:
    (repo / "large").write_bytes(noise(100_000))
    git("add", "large")
    git("commit", "-q", "-m", "large")
    stream(Repo.find(), "refs/heads/entire/1234567-e3b0c4", {"a.txt": noise(1000)})
    git("rm", "-q", "large")
    git("commit", "-q", "-m", "no longer")
    assert 500 < sums(Repo.find())["streams"] < 2000


def test_streams_archives_and_edits_are_told_apart(repo: Path) -> None:
    here = Repo.find()
    stream(here, "refs/heads/entire/1234567-e3b0c4", {"a": noise(1000)}, "s-one")
    stream(here, "refs/gitcp/archive/1234567-e3b0c4/1", {"b": noise(10_000)}, "s-two")
    stream(here, "refs/gitcp/edits/s-three", {"c": noise(40_000)}, "s-three")
    found = sums(here)
    assert found["streams"] < found["archives"] < found["edits"]
    assert list(sums(here, "session"))[:3] == ["s-three", "s-two", "s-one"]


def test_an_object_is_as_old_as_the_first_commit_that_has_it(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = "refs/heads/entire/1234567-e3b0c4"
    parent: tuple[str, ...] = ()
    (repo / "large").write_bytes(noise(100_000))
    for date in (946684800, 978307200):  # 2000 and 2001
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{date} +0000")
        (repo / "small").write_text(str(date))
        git("add", "-A")
        tree, message = git("write-tree"), "x\n\nEntire-Session: s-one"
        git("update-ref", ref, git("commit-tree", tree, *parent, "-m", message))
        parent = ("-p", ref)
    by_time: dict[float, int] = {}
    for item in space.list_items(Repo.find()):
        by_time[item.time] = by_time.get(item.time, 0) + item.size
    assert by_time[946684800] > 50_000
    assert 0 < by_time[978307200] < 1000


def test_files_are_states_and_caches_of_their_session(repo: Path) -> None:
    for name, size in (
        ("entire-sessions/s-one.json", 10),
        ("gitcp/transcript/s-one.redacted", 200),
        ("gitcp/turn/s-one.log", 3000),
        ("gitcp/cache/index", 40_000),
    ):
        path = repo / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    assert sums(Repo.find()) == {"states": 10, "caches": 43_200}
    assert sums(Repo.find(), "session") == {"s-one": 3210, "": 40_000}


def test_a_trailer_of_any_form_hides_nothing(repo: Path) -> None:
    for number, session_id in enumerate(("s\n of two lines", "s\u2028s", "s\udce9", "s")):
        name = f"refs/heads/entire/1234567-e3b0c{number}"
        stream(Repo.find(), name, {"a": noise(1000)}, session_id)
    assert 1000 < sums(Repo.find())["streams"] < 3000


def test_what_is_missing_is_left_out(repo: Path) -> None:
    here = Repo.find()
    with Objects(here):
        data = session("s-one")
        data["transcript"] = given = store_chunks(here.objects, noise(1000))
        writing.write_sessions(here, [("0123456789ab", data)])
    loosened(Path(here.common))
    before, (oid,) = sums(here), given.chunks
    forget(Path(here.common), oid)
    del before["transcripts"]
    assert sums(here) == before


def test_a_table_a_record_and_exact_bytes(
    repo: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = repo / ".git/entire-sessions/s-one.json"
    path.parent.mkdir()
    path.write_bytes(b"x" * 2048)
    assert du.run([]) == 0
    assert capfdbinary.readouterr().out == b"2.0 KiB  states of sessions (1)\n2.0 KiB  total\n"
    assert du.run(["-b", "--by=session"]) == 0
    assert capfdbinary.readouterr().out == b"2048  s-one (1)\n2048  total\n"
    assert du.run(["--by=age", "--json"]) == 0
    told = json.loads(capfdbinary.readouterr().out)
    assert told == {"type": "usage", "age": "today", "bytes": 2048, "items": 1}


@pytest.mark.parametrize("bare", [False, True])
def test_an_empty_repository_has_nothing(tmp_path: Path, bare: bool) -> None:
    git("init", "-q", *(["--bare"] if bare else []), str(tmp_path / "r"))
    assert list(space.list_items(Repo.find(str(tmp_path / "r")))) == []


def test_the_number_of_git_processes_does_not_grow(tmp_path: Path) -> None:
    unbundle("v1-sample", tmp_path / "r")
    env = {**os.environ, "GITCP_TRACE": str(tmp_path / "trace")}
    for name, most in (("du", 11), ("check-store", 10)):
        command = [sys.executable, str(TOP / f"bin/gitcp-{name}")]
        subprocess.run(command, cwd=tmp_path / "r", env=env, stdout=subprocess.DEVNULL)
        assert 5 <= (tmp_path / "trace").read_text().count(" ms)") <= most, name
        (tmp_path / "trace").unlink()


@pytest.mark.parametrize(
    ("by", "name", "want"),
    [
        ("session", "", "of several sessions or none"),
        ("session", "s1", "s1"),
        ("age", "", "of unknown age"),
        ("age", "today", "less than a day old"),
        ("age", "week", "less than a week old"),
        ("age", "older", "older"),
    ],
)
def test_a_group_without_a_name_is_described(by: str, name: str, want: str) -> None:
    assert du.format_table([Sum(name, 5, 2)], by, exact=True) == [f"5  {want} (2)", "5  total"]
