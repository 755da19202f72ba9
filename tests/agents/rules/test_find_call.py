"""A call is found by its id, with the words around it, in as few pieces as it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitcp.agents.reading import conversation
from gitcp.agents.reading.items import list_items
from gitcp.record.session import client_transcript
from tests.support.paths import DATA

RECORDED = sorted((DATA / "recordings").glob("*/*/transcript.*"))


class Counted(Sequence[bytes]):
    """Pieces that count which of them were read."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self.read: set[int] = set()

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, number: Any) -> Any:
        self.read.add(number)
        return self._pieces[number]


def cut(data: bytes, count: int) -> list[bytes]:
    """Pieces of count lines, without the last newline of each but the last, as they are stored."""
    lines = data.splitlines(keepends=True)
    groups = [b"".join(lines[at : at + count]) for at in range(0, len(lines), count)]
    return [*(group.removesuffix(b"\n") for group in groups[:-1]), *groups[-1:]]


def list_calls_once(data: bytes) -> Iterator[str]:
    """The ids of the calls that a transcript has once: of others any may be meant."""
    ids = [item["id"] for item in list_items(data) if item["kind"] == "call" and item["id"]]
    yield from (one for one in ids if ids.count(one) == 1)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_pieces_tell_what_the_whole_tells(path: Path) -> None:
    data = path.read_bytes()
    for call_id in list_calls_once(data):
        whole = conversation._find_call_by_items(data, call_id)
        for count in (1, 2, 7, 100_000):
            assert conversation.find_call(cut(data, count), {}, call_id) == whole, (count, call_id)


def test_recordings_have_calls() -> None:
    found = [path for path in RECORDED if any(list_calls_once(path.read_bytes()))]
    assert len(found) > 20


def say(kind: str, content: object) -> bytes:
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}}).encode()


def use(number: int) -> bytes:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": {"n": number}}
    words = {"type": "text", "text": f"Now {number}."}
    return say("assistant", [words, block])


def talk(turns: int) -> bytes:
    lines = []
    for number in range(turns):
        lines += [say("user", f"Do {number}"), use(number)]
        lines.append(say("user", [{"type": "tool_result", "tool_use_id": f"toolu_{number}"}]))
        lines.append(say("assistant", [{"type": "text", "text": f"Did {number}."}]))
    return b"\n".join(lines) + b"\n"


def test_no_more_is_read_than_is_necessary() -> None:
    pieces = Counted(cut(talk(1000), 8))
    found = conversation.find_call(pieces, {}, "toolu_990")
    assert found is not None
    assert (found["before"], found["after"]) == ("Now 990.", "Did 990.")
    assert found["given"] == {"n": 990}
    assert len(pieces.read) <= 6 < len(pieces)


def test_a_mention_of_an_id_is_no_call() -> None:
    data = talk(3) + say("user", "look at toolu_1 again") + b"\n"
    found = conversation.find_call(cut(data, 1), {}, "toolu_1")
    assert found is not None and found["before"] == "Now 1."
    assert conversation.find_call(cut(data, 1), {}, "look") is None


def test_a_subagents_call_is_looked_for_in_its_own_transcript_first() -> None:
    main = talk(100) + use(500) + b"\n"
    side = b"".join(
        json.dumps({**json.loads(line), "isSidechain": True}).encode() + b"\n"
        for line in [say("user", "Help"), use(7)]
    ).replace(b"toolu_7", b"toolu_of_it")
    pieces = Counted(cut(main, 8))
    found = conversation.find_call(pieces, {"toolu_500": side}, "toolu_of_it", by_subagent=True)
    assert found is not None and found["name"] == "Edit"
    assert found["task"] == {"tool_use_id": "toolu_500", "given": {"n": 500}}
    assert len(pieces.read) <= 2


def test_a_clients_file_is_read_in_pieces_of_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_transcript, "_PIECE", 1000)
    path = tmp_path / "t.jsonl"
    for data in (talk(50), talk(50).rstrip(), b"", b"x"):
        path.write_bytes(data)
        pieces = client_transcript.open_live({"transcript_path": str(path)})
        assert b"".join(pieces) == data
        assert all(piece.endswith(b"\n") for piece in [*pieces][:-1])
    assert not client_transcript.open_live({"transcript_path": str(tmp_path)})
    assert not client_transcript.open_live({"transcript_path": "relative"})
