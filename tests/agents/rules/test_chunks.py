from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts

# Lines of 20 to 50 KB: two to four make a chunk of the first 320.
LINES = st.lists(st.integers(20_000, 50_000), max_size=20).map(
    lambda sizes: [b"%d" % i * (n // len(b"%d" % i)) for i, n in enumerate(sizes)]
)


@given(LINES, st.sampled_from([b"", b"\n", b"\n\n", b"an unfinished line"]))
def test_the_chunks_joined_are_the_transcript(lines: list[bytes], end: bytes) -> None:
    data = b"\n".join(lines) + end
    assert b"\n".join(transcripts.split_chunks(data)) == data


@given(LINES, LINES)
def test_a_longer_transcript_has_the_same_first_chunks(a: list[bytes], b: list[bytes]) -> None:
    before = b"".join(line + b"\n" for line in a)
    after = before + b"".join(line + b"\n" for line in b)
    done = len(transcripts.find_ends(before))
    assert transcripts.split_chunks(after)[:done] == transcripts.split_chunks(before)[:done]


@given(LINES, LINES)
def test_splitting_can_go_on_where_it_stopped(a: list[bytes], b: list[bytes]) -> None:
    before = b"".join(line + b"\n" for line in a)
    after = before + b"".join(line + b"\n" for line in b)
    ends = transcripts.find_ends(before)
    rest = after[ends[-1] if ends else 0 :]
    assert transcripts.split_chunks(before)[: len(ends)] + transcripts.split_chunks(
        rest, len(ends)
    ) == transcripts.split_chunks(after)


def test_each_chunk_ends_with_the_first_line_that_reaches_its_size() -> None:
    line = b"x" * 999 + b"\n"
    first, second, last = transcripts.split_chunks(line * 140)
    assert len(first) == len(second) == 66_000 - 1  # 64 KiB is 65,536: 66 lines reach it
    assert last == line * 8


@pytest.mark.parametrize(
    ("number", "size"),
    [
        (0, 64 << 10),
        (319, 64 << 10),
        (320, 256 << 10),
        (619, 256 << 10),
        (620, 1 << 20),
        (819, 1 << 20),
        (820, 11 << 20),
        (998, 11 << 20),
        (999, None),
    ],
)
def test_the_schedule_is_the_one_of_the_format(number: int, size: int | None) -> None:
    assert transcripts.get_least_size(number) == size


def test_names_of_all_chunks_sort_as_text() -> None:
    names = [transcripts.format_name(n) for n in range(1000)]
    assert names == sorted(names)
    assert (names[0], names[1], names[-1]) == ("full.jsonl", "full.jsonl.001", "full.jsonl.999")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("full.jsonl", 0),
        ("full.log", 0),
        ("full.jsonl.001", 1),
        ("full.jsonl.1234", 1234),
        ("full.jsonl.", None),
        ("full.jsonl.bak", None),
        ("full.jsonl.²", None),
        ("full.jsonl." + "1" * 5000, None),
        ("prompt.txt", None),
        ("001", None),
    ],
)
def test_a_name_tells_which_chunk_it_is(name: str, number: int | None) -> None:
    assert transcripts.parse_number(name) == number


@pytest.mark.parametrize(
    ("first_line", "path", "document"),
    [
        (b"{", "chat.jsonl", True),
        (b"  {\r\n", "", True),
        (b'{"type":"user"}', "chat.jsonl", False),
        (b'{"type":"user"}', "chat.json", True),
        (b'{"type":"user"}', "chat.json.jsonl", False),
        (b"", "chat.jsonl", False),
        (b"[", "", False),
    ],
)
def test_a_document_is_known_by_its_name_or_by_its_first_line(
    first_line: bytes, path: str, document: bool
) -> None:
    assert transcripts.is_document(first_line, path) is document


@pytest.mark.parametrize("data", [b'{"a":1}', b"", b"x\n" * 50, b"xxxxxxxxx\ny"])
def test_a_document_is_cut_only_above_its_limit(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert transcripts.split_document(data) == [data]
    monkeypatch.setattr(transcripts, "UNCUT_DOCUMENT", 8)
    assert b"\n".join(transcripts.split_document(data)) == data
    assert all(len(p) <= 8 for p in transcripts.split_document(b"x\n" * 50))


@pytest.mark.parametrize(
    ("old", "new", "ids"),
    [
        ([1, 2], [1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [9], [1, 2, 3, 9]),
        ([1, 2], [2, 3], [1, 2, 3]),
        ([], [1], [1]),
    ],
)
def test_messages_that_a_shorter_document_dropped_are_kept(
    old: list[int], new: list[int], ids: list[int]
) -> None:
    def document(numbers: list[int], **more: object) -> bytes:
        return json.dumps({"messages": [{"id": str(n)} for n in numbers], **more}).encode()

    made = json.loads(
        transcript_facts.merge_documents(document(old), document(new, unknown="kept"))
    )
    assert [int(m["id"]) for m in made["messages"]] == ids
    assert made["unknown"] == "kept"


def test_a_document_that_is_nested_too_deep_gives_nothing() -> None:
    assert transcript_facts.merge_documents(b"[" * 100_000, b"{}") == b"{}"


def test_a_document_that_has_all_messages_stays_as_it_is() -> None:
    new = b'{ "messages" : [ {"id":"1"} ], "other": 1.0 }'
    assert transcript_facts.merge_documents(b'{"messages":[{"id":"1"}]}', new) == new
    assert transcript_facts.merge_documents(b"not json", new) == new
