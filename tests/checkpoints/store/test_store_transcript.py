"""Transcripts on their way into the store: incremental, chunked, and never less than before."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.agents.claude_code import CLIENT
from gitcp.checkpoints import transcripts, writing
from gitcp.checkpoints.transcripts import LiveTranscript
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.checkpoints import Plain, blob, git, keep, line, session


class Counting(Plain):
    """Remembers how many bytes it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def line(self, data: bytes) -> bytes:
        self.given.append(len(data))
        return super().line(data)

    redact_jsonl = redact_document = redact_text = line


def joined(stored: transcripts.StoredTranscript) -> bytes:
    return b"\n".join([blob(oid) for oid in stored.chunks])


def lines(first: int, last: int, words: int = 3) -> bytes:
    return b"".join(line(n, words) for n in range(first, last))


def test_a_growing_transcript_is_redacted_and_stored_once(repo: Path, tmp_path: Path) -> None:
    live, red, r = tmp_path / "t.jsonl", Counting(), Repo.find()
    live.write_bytes(lines(0, 1500, 20))
    with Objects(r):
        first = transcripts.store_transcript(r, LiveTranscript("s", str(live), red))
        live.write_bytes(live.read_bytes() + lines(1500, 1520, 20))
    with Objects(r):
        second = transcripts.store_transcript(r, LiveTranscript("s", str(live), red))
    assert first and second
    assert len(first.chunks) > 3
    assert second.chunks[: len(first.chunks) - 1] == first.chunks[:-1]
    assert red.given == [len(lines(0, 1500, 20)), len(lines(1500, 1520, 20))]
    assert joined(second) == live.read_bytes() == second.read()
    assert (second.size, second.items) == (live.stat().st_size, 1520)


def test_nothing_new_is_not_read_again(repo: Path, tmp_path: Path) -> None:
    live, red, r = tmp_path / "t.jsonl", Counting(), Repo.find()
    live.write_bytes(lines(0, 9))
    with Objects(r):
        for _ in range(3):
            assert transcripts.store_transcript(r, LiveTranscript("s", str(live), red))
    assert len(red.given) == 1


def test_an_unfinished_line_waits_until_it_is_whole(repo: Path, tmp_path: Path) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 3) + b'{"half": "hunter2')
    with Objects(r):
        assert joined(keep(r, "s", live)) == lines(0, 3)
        as_it_is = keep(r, "s", live, complete=True)
        assert joined(as_it_is) == lines(0, 3) + b'{"half": "REDACTED'
        assert as_it_is.content_hash == transcripts.hash_content(joined(as_it_is))
        live.write_bytes(lines(0, 3) + b'{"half": "hunter2"}\n' + lines(4, 5))
        finished = joined(keep(r, "s", live))
    assert finished == lines(0, 3) + b'{"half": "REDACTED"}\n' + lines(4, 5)


@pytest.mark.parametrize(
    ("now", "stored"),
    [
        (lines(0, 2), lines(0, 5)),  # truncated
        (lines(0, 2) + lines(9, 10), lines(0, 5) + lines(9, 10)),  # a line rewritten
        (lines(20, 23), lines(0, 5) + lines(20, 23)),  # compaction, /clear
        (lines(20, 40), lines(0, 5) + lines(20, 40)),  # a longer file in its place
        (b"", lines(0, 5)),
    ],
)
def test_a_transcript_that_shrinks_or_is_replaced_drops_nothing(
    repo: Path, tmp_path: Path, now: bytes, stored: bytes
) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 5))
    with Objects(r):
        keep(r, "s", live)
        live.write_bytes(now)
        assert joined(keep(r, "s", live)) == stored
        live.write_bytes(now + lines(50, 52))
        assert joined(keep(r, "s", live)) == stored + lines(50, 52)


def test_a_copy_of_the_same_transcript_is_the_same_transcript(repo: Path, tmp_path: Path) -> None:
    live, red, r = tmp_path / "t.jsonl", Counting(), Repo.find()
    live.write_bytes(lines(0, 5))
    with Objects(r):
        assert transcripts.store_transcript(r, LiveTranscript("s", str(live), red))
        moved = tmp_path / "resumed.jsonl"
        moved.write_bytes(lines(0, 5) + lines(5, 6))
        found = transcripts.store_transcript(r, LiveTranscript("s", str(moved), red))
    assert found and joined(found) == lines(0, 6)
    assert red.given == [len(lines(0, 5)), len(lines(5, 6))]


def test_an_edit_before_the_last_bytes_is_seen_by_the_full_check(
    repo: Path, tmp_path: Path
) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 400))
    with Objects(r):
        keep(r, "s", live)
        with live.open("r+b") as f:
            f.write(line(700)[: len(line(0)) - 1])
        assert joined(keep(r, "s", live)) == lines(0, 400)
        assert line(700)[:30] in joined(keep(r, "s", live, check=True))


def test_a_long_transcript_is_not_read_again_in_a_commit(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only some blocks of what was read, others each time that it has grown."""
    monkeypatch.setattr(transcripts, "_PIECE", 4096)
    monkeypatch.setattr(transcripts, "LONG", 4096)
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 9000))
    read = transcripts.read_span
    spans: list[int] = []

    def read_and_count(fd: int, start: int, end: int) -> bytes:
        spans.append(end - start)
        return read(fd, start, end)

    with Objects(r):
        keep(r, "s", live)
        monkeypatch.setattr(transcripts, "read_span", read_and_count)
        kept = keep(r, "s", live, check=True)
        assert kept.content_hash == transcripts.hash_chunks(kept.chunks)
        assert sum(spans) < live.stat().st_size / 4
        monkeypatch.setattr(transcripts, "read_span", read)
        assert joined(kept) == lines(0, 9000)
        with live.open("r+b") as f:  # in the middle, once
            f.seek(len(lines(0, 5000)))
            f.write(line(99_999)[: len(line(5000)) - 1])
        is_seen = False
        for number in range(9000, 9100):
            with live.open("ab") as end:
                end.write(lines(number, number + 1))
            is_seen = is_seen or keep(r, "s", live, check=True).size > live.stat().st_size
        assert is_seen


@pytest.mark.parametrize("name", ["s.json", "s.redacted"])
@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_cache_is_begun_anew(
    repo: Path, tmp_path: Path, name: str, damage: bytes | None
) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 5))
    with Objects(r):
        keep(r, "s", live)
        kept = repo / ".git/gitcp/transcript" / name
        kept.unlink() if damage is None else kept.write_bytes(damage)
        assert joined(keep(r, "s", live)) == lines(0, 5)


def test_bytes_of_a_killed_writer_do_not_stay(repo: Path, tmp_path: Path) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 5))
    with Objects(r):
        keep(r, "s", live)
        with (repo / ".git/gitcp/transcript/s.redacted").open("ab") as f:
            f.write(lines(5, 7)[:-9])
        live.write_bytes(lines(0, 6))
        assert joined(keep(r, "s", live)) == lines(0, 6)


def test_chunks_whose_pack_a_killed_process_left_unfinished_are_written_again(
    repo: Path, tmp_path: Path
) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 1500, 20))
    with Objects(r):
        assert transcripts.store_transcript(r, LiveTranscript("s", str(live), Plain()))
        r.objects.packs.abandon()
    with Objects(r):
        assert joined(keep(r, "s", live)) == live.read_bytes()


def test_the_copy_has_what_no_chunk_has(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 1500, 20))
    copy = repo / ".git/gitcp/transcript/s.redacted"
    with Objects(r):
        first = keep(r, "s", live)
        assert first.read() == live.read_bytes() == b"".join(first.list_lines())
    sizes = [len(blob(oid)) for oid in first.chunks]
    assert len(sizes) > 3
    assert copy.stat().st_size == sizes[-1] < live.stat().st_size / 3

    # A process is killed when what is known of the copy is written, and the copy is not yet.
    live.write_bytes(live.read_bytes() + lines(1500, 3000, 20))
    with Objects(r), monkeypatch.context() as killed:
        killed.setattr(transcripts, "put_file", raise_full)
        keep(r, "s", live)
    assert copy.stat().st_size > live.stat().st_size / 3
    for end in (3001, 4500):
        live.write_bytes(live.read_bytes() + lines(3000, end, 20))
        with Objects(r):
            assert keep(r, "s", live).read() == live.read_bytes()
    assert copy.stat().st_size < live.stat().st_size / 3


def raise_full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_chunks_that_a_prune_took_are_written_again(repo: Path, tmp_path: Path) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 1500, 20))
    with Objects(r):
        keep(r, "s", live)
    git("prune", "--expire=now")
    with Objects(r):
        assert joined(keep(r, "s", live)) == live.read_bytes()
        writing.write_sessions(r, [("a1b2c3d4e5f6", session("s", keep(r, "s", live)))])
    git("gc", "-q", "--prune=now")
    with Objects(r):
        assert joined(keep(r, "s", live)) == live.read_bytes()
    assert git("fsck", "--no-dangling") == ""


@pytest.mark.parametrize("path", [None, "", "/nowhere/t.jsonl", "/", "/dev/null", "a\0b"])
def test_without_a_transcript_there_is_nothing(repo: Path, path: str | None) -> None:
    r = Repo.find()
    with Objects(r):
        assert transcripts.store_transcript(r, LiveTranscript("s", path, Plain())) is None


def test_a_transcript_that_is_gone_is_still_stored(repo: Path, tmp_path: Path) -> None:
    live, r = tmp_path / "t.jsonl", Repo.find()
    live.write_bytes(lines(0, 5))
    with Objects(r):
        keep(r, "s", live)
        live.unlink()
        assert joined(keep(r, "s", live)) == lines(0, 5)


def test_a_json_document_keeps_unknown_fields_and_dropped_messages(
    repo: Path, tmp_path: Path
) -> None:
    live, r = tmp_path / "session.json", Repo.find()
    document = {"sessionId": "x", "odd": [1.5, None], "messages": [{"id": "1"}, {"id": "2"}]}
    live.write_text(json.dumps(document, indent=2))
    with Objects(r):
        assert joined(keep(r, "s", live)) == live.read_bytes()
        live.write_text(json.dumps({**document, "messages": [{"id": "3"}]}, indent=2))
        now = json.loads(joined(keep(r, "s", live)))
    assert now == {**document, "messages": [{"id": "1"}, {"id": "2"}, {"id": "3"}]}


def test_a_scan_goes_on_from_where_the_last_one_ended(repo: Path, tmp_path: Path) -> None:
    def prompt(text: str) -> bytes:
        message = {"role": "user", "content": text}
        return json.dumps({"type": "user", "uuid": text, "message": message}).encode() + b"\n"

    live, r = tmp_path / "t.jsonl", Repo.find()

    def scan() -> tuple[int, list[str]]:
        with Objects(r):
            found = transcripts.store_transcript(
                r, LiveTranscript("s", str(live), Plain(), CLIENT.scan)
            )
        assert found
        return found.items, found.scan["prompts"]

    live.write_bytes(prompt("one") + lines(0, 3))
    assert scan() == (4, ["one"])
    live.write_bytes(live.read_bytes() + prompt("two"))
    assert scan() == scan() == (5, ["one", "two"])
    live.write_bytes(live.read_bytes() + prompt("three"))
    assert scan() == (6, ["one", "two", "three"])


_PROMPTS = st.lists(st.text("ab", max_size=4), max_size=6)


@given(_PROMPTS, _PROMPTS)
def test_a_prompt_is_listed_unless_an_earlier_one_begins_with_it(
    scanned: list[str], turns: list[str]
) -> None:
    stored = SimpleNamespace(scan={"prompts": scanned})
    state = {"turns": {str(n): {"prompt": prompt} for n, prompt in enumerate(turns)}}
    expected = [*scanned]
    for prompt in turns:
        if prompt and not any(earlier.startswith(prompt) for earlier in expected):
            expected.append(prompt)
    assert transcripts.list_prompts(state, stored) == expected  # type: ignore[arg-type]
