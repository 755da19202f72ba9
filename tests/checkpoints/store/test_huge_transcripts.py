"""Transcripts that are huge, hostile or changed behind our back: bounded, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.agents import transcripts
from gitcp.checkpoints import transcripts as stored_transcripts
from gitcp.checkpoints.transcripts import LiveTranscript
from gitcp.git import files
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.checkpoints import Plain, keep, line
from tests.support.harness import World
from tests.support.paths import TOP

MEASURE = """
import sys
from gitcp.git import files
from gitcp.git.repo import Repo
from gitcp.git.objects import Objects
from gitcp.checkpoints import redactor as redaction
from gitcp.checkpoints import transcripts as stored_transcripts
repo = Repo.find()
with Objects(repo):
    source = stored_transcripts.LiveTranscript("s", sys.argv[1], redaction.get_redactor(repo))
    stored = stored_transcripts.store_transcript(repo, source, complete=True)
    print(len(stored.content_hash), stored.size)
[peak] = [row.split()[1] for row in open("/proc/self/status") if row.startswith("VmHWM")]
print(peak)  # of this program alone: what getrusage says begins with the parent's
"""


def cut(data: bytes, room: int) -> list[bytes]:
    found = transcripts.read_stretches(lambda a, b: data[a:b], 0, len(data), room)
    return [piece for piece, _ in found]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test reaches with little."""
    for name, size in {"STRETCH": 64, "LINE": 200, "HEAD": 20, "TAIL": 10, "ROOM": 50}.items():
        monkeypatch.setattr(transcripts, name, size)


@pytest.mark.usefixtures("small")
def test_stretches_are_whole_lines_and_all_of_them() -> None:
    data = b"".join(line(n) for n in range(50))
    assert b"".join(cut(data, 1 << 20)) == data
    assert all(piece.endswith(b"\n") for piece in cut(data, 1 << 20))
    assert b"".join(cut(data + b"no newline yet", 1 << 20)) == data


@pytest.mark.usefixtures("small")
def test_a_line_that_is_too_long_keeps_its_head_tail_and_length() -> None:
    data = line(1) + b"x" * 300 + b"y" * 10 + b"\n" + line(2)
    first, short, last = b"".join(cut(data, 1 << 20)).splitlines(keepends=True)
    assert (first, last) == (line(1), line(2))
    told = {"type": "gitcp-shortened", "bytes": 310, "head": "x" * 20, "tail": "y" * 10}
    assert json.loads(short) == told


@pytest.mark.usefixtures("small")
def test_of_too_much_the_first_and_the_last_lines_stay() -> None:
    data = b"".join(line(n) for n in range(100))
    taken = b"".join(cut(data, 2000))
    [at] = [n for n, one in enumerate(taken.splitlines()) if b"gitcp-left-out" in one]
    lines = taken.splitlines(keepends=True)
    assert data.startswith(b"".join(lines[:at])) and data.endswith(b"".join(lines[at + 1 :]))
    left = json.loads(lines[at])["bytes"]
    assert left == len(data) - len(taken) + len(lines[at])
    assert len(taken) < 2200 and 0 < at < len(lines) - 1


class Signing(Plain):
    """A redactor that ends each line with the process that read it."""

    def redact_jsonl(self, data: bytes) -> bytes:
        return b"".join(b"%b %d\n" % (part, os.getpid()) for part in data.splitlines())


@pytest.mark.usefixtures("small")
def test_a_long_transcript_is_redacted_by_several_processes_in_its_order(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_transcripts, "_MORE", 1000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    here, path = Repo.find(), tmp_path / "t.jsonl"
    path.write_bytes(b"".join(line(n) for n in range(100)))
    with Objects(here):
        stored = stored_transcripts.store_transcript(
            here, LiveTranscript("s", str(path), Signing())
        )
        assert stored and [here.objects.need(oid, "blob") for oid in stored.chunks] == [
            stored.read()
        ]
    said = [part.rpartition(b" ") for part in stored.read().splitlines()]
    assert b"".join(text + b"\n" for text, _, _ in said) == path.read_bytes()
    workers = {int(pid) for _, _, pid in said}
    assert len(workers) == 2 and os.getpid() not in workers


def test_an_early_line_changed_in_place_is_noticed_at_the_commit(world: World) -> None:
    agent = world.agent("s-one")
    agent.turn("first " + "x" * 9000, {"one.py": "1\n"})
    text = agent.transcript.read_text()
    agent.transcript.write_text(text.replace("first xx", "FIRST XX", 1))
    [checkpoint] = world.commit()
    stored = world.committed(checkpoint)["s-one"]["transcript"]
    assert "FIRST XX" in stored and "first xx" in stored


def holes(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 30)


STRANGE: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a directory": Path.mkdir,
    "a link into the repository": lambda path: path.symlink_to(Path(".git/config").absolute()),
    "what is no transcript": lambda path: path.write_text("root:x:0:0\n"),
    "nothing but holes": holes,
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_path_that_is_no_transcript_is_ignored_with_a_line(
    repo: Path, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here, path = Repo.find(), tmp_path / "t.jsonl"
    STRANGE[what](path)
    with Objects(here):
        assert (
            stored_transcripts.store_transcript(here, LiveTranscript("s", str(path), Plain()))
            is None
        )
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "is ignored" in said


def test_a_large_document_that_was_small_keeps_what_is_stored(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "LARGEST_DOCUMENT", 1000)
    here, path = Repo.find(), tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": [{"id": "a"}]}))
    with Objects(here):
        before = keep(here, "s", path).read()
        path.write_text(json.dumps({"messages": [{"id": "b", "text": "x" * 2000}]}))
        assert keep(here, "s", path).read() == before


@pytest.mark.linux
@pytest.mark.parametrize("shape", ["one line", "many lines"])
def test_memory_stays_flat(repo: Path, tmp_path: Path, shape: str) -> None:
    path, size = tmp_path / "t.jsonl", 24 << 20
    with path.open("wb") as f:
        if shape == "one line":
            f.write(b'{"text":"' + b"word " * (size // 5) + b'"}\n')
        else:
            f.writelines(line(n, 200) for n in range(size // 1250))
    argv = [sys.executable, "-c", MEASURE, str(path)]
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    out = subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=120)
    peak = int(out.stdout.split()[-1])  # KiB
    assert peak < 60 << 10, f"{peak >> 10} MiB for {size >> 20}"


@pytest.mark.parametrize("hole", [1 << 30, 0])
def test_what_a_turn_wrote_is_looked_for_in_bounded_memory(tmp_path: Path, hole: int) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line(1) + line(2))
    start = len(line(1))
    assert stored_transcripts.read_live(str(path), start) == line(2)
    with path.open("ab") as f:
        f.truncate(f.tell() + hole)
        f.seek(0, os.SEEK_END)
        f.write((b"x" * (100 << 20) if not hole else b"") + b"\n" + line(3))
    data = stored_transcripts.read_live(str(path), start)
    assert data.endswith(line(3)) and len(data) < transcripts.LARGEST_DOCUMENT


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t")
    assert stored_transcripts.read_live(str(tmp_path / "t")) == b""


def test_a_name_that_can_be_no_path_is_a_file_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        stored_transcripts.read_live("a\0b")


def test_a_copy_that_cannot_grow_ends_where_it_ended(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = stored_transcripts.Copy(Repo.find(), "s1")
    copy.append(b"kept\n")

    def write_half(fd: int, data: bytes, offset: int) -> int:
        os.pwrite(fd, data[: len(data) // 2], offset)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(files, "write_at", write_half)
        with pytest.raises(OSError, match="No space"):
            copy.append(b"lost\n")
    assert os.fstat(copy.fd).st_size == copy.size == len(b"kept\n")
    copy.append(b"more\n")
    assert copy.read() == b"kept\nmore\n"
    copy.close()
