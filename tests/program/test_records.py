"""Records on a stream: when they are seen, and JSON read as core reads it."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.errors import InputError
from gitcp.git import records
from gitcp.text import json
from gitcp.text.record_types import Record
from tests.support.paths import TOP

_WHOLE = st.integers(-(2**63), 2**64 - 1)
_TEXTS = st.text(st.characters(codec=None))  # halves of surrogate pairs too
_VALUES = st.recursive(
    st.none() | st.booleans() | _WHOLE | st.floats() | _TEXTS,
    lambda v: st.lists(v) | st.dictionaries(_TEXTS, v),
    max_leaves=8,
)


class Pipe(io.RawIOBase):
    """What a reader at the other end sees, piece by piece."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.seen.append(bytes(data))  # type: ignore[call-overload]
        return len(self.seen[-1])


def many(count: int) -> Iterator[Record]:
    return ({"type": "one", "number": n} for n in range(count))


@given(_VALUES)
def test_stored_json_is_read_fast_as_core_reads_it(value: object) -> None:
    text = json.dumps(value).encode()
    records.dump_record({"value": 1e-5})  # which has brought orjson in

    assert "orjson" in sys.modules
    assert repr(records.parse_json(text)) == repr(json.loads(text))


@given(_VALUES | st.integers() | st.floats(1e-9, 1e-3) | st.floats(1e14, 1e18))
def test_a_record_is_written_without_orjson_as_with_it(value: object) -> None:
    records.dump_record({"value": 1e-5})  # which has brought orjson in

    assert "orjson" in sys.modules
    assert records._dump_small({"value": value}) in (b"", records.dump_record({"value": value}))


def test_few_records_are_written_without_orjson_and_many_with_it() -> None:
    code = f"""
import sys
sys.path.insert(0, {str(TOP)!r})
from gitcp.git import records as record
few = record.dump_record({{"share": 33.3, "name": "caf\u00e9", "tools": ["a", 2**53]}})
before, much = "orjson" in sys.modules, {{"text": "x" * (1 << 19)}}
print(few, before, len({{record.dump_record(much) for _ in range(2)}}), "orjson" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    written = '{"share":33.3,"name":"caf\u00e9","tools":["a",9007199254740992]}'.encode()
    assert done.stdout == f"{written!r} False 1 True\n", done.stderr


def test_orjson_is_started_where_there_is_much_to_read_and_not_before() -> None:
    code = f"""
import sys
sys.path.insert(0, {str(TOP)!r})
from gitcp.git import records as record
few = [record.parse_json(b'{{"a": [1]}}') for _ in range(3)] == [{{"a": [1]}}] * 3
before = "orjson" in sys.modules
much = record.parse_json(b'"' + b"x" * (16 << 20) + b'"') == "x" * (16 << 20)
print(few, before, much, "orjson" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True False True True\n", done.stderr


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": 1}}', b"\xff", b"[" * 5000])
def test_what_is_no_json_is_refused_as_core_refuses_it(text: bytes) -> None:
    for parse in (records.parse_json, json.loads):
        with pytest.raises((ValueError, RecursionError)):
            parse(text)


def test_a_record_is_seen_before_a_slow_producer_makes_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "_TOGETHER", -1.0)
    pipe, before = Pipe(), list[int]()

    def slow() -> Iterator[Record]:
        for one in many(3):
            before.append(len(pipe.seen))
            yield one

    records.write_records(io.BufferedWriter(pipe), slow())

    assert before == [0, 1, 2]


def test_records_of_a_fast_producer_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_TOGETHER", float("inf"))
    pipe = Pipe()

    records.write_records(io.BufferedWriter(pipe), many(100))

    assert len(pipe.seen) == 1
    assert list(records.read_records(io.BytesIO(b"".join(pipe.seen)))) == list(many(100))


@given(st.text())
def test_a_record_in_a_pipe_holds_nothing_that_a_terminal_at_its_end_obeys(text: str) -> None:
    stream = io.BytesIO()
    for words in (text, "\x9b31m", "\x7f", "\u202e", "\U000e0001"):
        records.write_records(stream, [{"type": "one", "words": words}])
        line = (
            stream.getvalue().decode().splitlines()[-1].replace("\u200c", "").replace("\u200d", "")
        )
        assert line.isprintable(), ascii(words)
        stream.seek(0)
        assert [*records.read_records(stream)][-1]["words"] == words


def test_what_came_before_a_failure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_TOGETHER", float("inf"))
    pipe = Pipe()

    def failing() -> Iterator[Record]:
        yield from many(2)
        raise ZeroDivisionError

    stream = io.BufferedWriter(pipe)
    with pytest.raises(ZeroDivisionError):
        records.write_records(stream, failing())

    assert b"".join(pipe.seen).count(b"\n") == 2


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("cut \ud83d", "cut \ufffd"),
        ("\udc00\udfff", "\ufffd\ufffd"),
        ("caf\udce9", "caf\udce9"),  # a byte of a name
        ("\udce9 \ud83d", "\udce9 \ufffd"),
        ({"\ud83d": "\ud83d"}, {"\ufffd": "\ufffd"}),
    ],
)
def test_half_of_a_pair_is_no_byte_and_is_written_as_what_is_lost(
    value: object, read: object
) -> None:
    line = records.dump_record({"type": "one", "value": value})
    assert list(records.read_records(io.BytesIO(line))) == [{"type": "one", "value": read}]


@pytest.mark.parametrize(
    "line",
    [
        '{"$bytes":"eA=="}',
        '{"a":{"$bytes":5}}',
        '{"a":{"$bytes":"eA=="},"b":{"$pairs":5}}',
        '{"a":{"$bytes":"eA=="},"b":{"$pairs":[[{},1]]}}',
        '{"a":{"$bytes":"eA=="},"b":{"$pairs":[["x"]]}}',
    ],
)
def test_a_name_that_is_none_is_no_record(line: str) -> None:
    with pytest.raises(InputError):
        list(records.read_records(io.BytesIO(line.encode())))
