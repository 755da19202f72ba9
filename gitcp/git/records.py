"""Records on a stream: one JSON object to a line, UTF-8, in and out.

Inside the program a name is a str, in which surrogates stand for bytes that are not UTF-8.
On the wire such a name is {"$bytes": "<base64>"} (gitcp-record(5)).
"""

from __future__ import annotations

import sys
import time

from gitcp import git, memory
from gitcp.errors import InputError
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, BinaryIO

    from gitcp.text.record_types import Record

_TOGETHER = 0.01  # seconds in which records are written together
# the integers that orjson writes
_LEAST = -(1 << 63)
_MOST = (1 << 64) - 1
_FLOAT_BITS = 1023  # bits of an integer that a float can hold
# Bytes of JSON, read and written, from which orjson, which takes 22 ms to start, is faster.
_MUCH = 16 << 20
_MUCH_OUT = 1 << 19
_COUNTS: dict[str, int] = memory.get_table("counts")  # bytes parsed and written without orjson
_NUMBERS = (b"e-0", b"e+", b"NaN", b"Infinity")  # what floats have that orjson writes otherwise
_LONG = b"0" * 19  # the integers that orjson refuses have as many digits, or more
_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_JOINERS = "\u200c\u200d"  # they join emoji and letters, and control no terminal


def decode_lines(out: bytes) -> list[str]:
    """The lines that git printed; str.splitlines() would also split at other characters."""
    if out:
        return git.decode_name(out.removesuffix(b"\n")).split("\n")
    return []


def encode_lines(words: Iterable[str], end: str = "\n") -> bytes:
    """Names as git reads them from its standard input, each with the end after it."""
    return git.encode_name("".join(f"{name}{end}" for name in words))


def read_records(stream: BinaryIO) -> Iterator[Record]:
    """Yield the records of stream; raise InputError naming the line that is not one."""
    from gitcp.packages import find_package

    find_package("orjson")
    import orjson  # 13 ms: paid on the first record, not on start-up

    for n, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as e:
            raise InputError(f"cannot parse record {n}: {e}") from None
        if b'"$bytes"' in line:
            value = _unpack(value)
        if not isinstance(value, dict):
            raise InputError(f"record {n} is not an object")
        yield value


def write_records(stream: BinaryIO, records: Iterable[Mapping[str, object]]) -> None:
    """Write each record as it comes: at once to a terminal and from a slow producer, else many
    together.

    Control characters are written as escapes of JSON, to a pipe, too: a terminal may be at its end.
    """
    at_terminal = stream.isatty()
    flushed = 0.0
    try:
        for record in records:
            stream.write(_escape_line(dump_record(record)) + b"\n")
            now = time.monotonic()
            if at_terminal or now - flushed > _TOGETHER:
                stream.flush()
                flushed = now
    finally:
        stream.flush()


def _needs_orjson(size: int) -> bool:
    """Whether orjson, which can then be imported, is to parse a text of so many bytes: with those
    before it, it is much."""
    if "orjson" in sys.modules:
        return True
    _COUNTS["parsed"] = _COUNTS.get("parsed", 0) + size
    if _COUNTS["parsed"] < _MUCH:
        return False
    from gitcp.packages import find_package

    find_package("orjson")
    return True


def parse_json(data: bytes) -> Any:
    """The value of a JSON text, like core's json.loads(), for callers with thousands of texts:
    after _MUCH bytes by orjson, in a third of the time.

    An integer of more than 64 bits may become a float.  Raise ValueError or RecursionError for
    other texts.
    """
    if not _needs_orjson(len(data)):
        return json.loads(data)
    import orjson

    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:  # it refuses lone surrogates, NaN and Infinity
        return json.loads(data)


def load_entry(line: bytes) -> dict[str, Any] | None:
    """transcripts.load_entry(), for callers with megabytes of lines."""
    from gitcp.agents import transcripts

    if not _needs_orjson(len(line)):
        return transcripts.load_entry(line)
    import orjson

    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:  # it refuses what load_entry() mends, too
        return transcripts.load_entry(line)
    return value if isinstance(value, dict) else None


def dump_record(record: Mapping[str, object]) -> bytes:
    """One record as a line of JSON, without the newline, as orjson writes it."""
    written = _COUNTS.get("written", 0)
    few = "orjson" not in sys.modules and written < _MUCH_OUT
    if few:
        line = _dump_small(record)
        if line:
            _COUNTS["written"] = written + len(line)
            return line
    from gitcp.packages import find_package

    find_package("orjson")
    import orjson

    try:
        return orjson.dumps(record)
    except TypeError:  # orjson refuses surrogates, and integers of more than 64 bits
        return orjson.dumps(_pack(record))


def _dump_small(record: Mapping[str, object]) -> bytes:
    """A record as orjson would write it; b"" for one with a value, or a number, that orjson alone
    writes in its way."""
    try:
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return b""
    digits = line.translate(_AS_ZEROS)
    if any(mark in line for mark in _NUMBERS) or _LONG in digits:
        return b""
    return line


def _escape_line(line: bytes) -> bytes:
    if line.isascii() and b"\x7f" not in line:
        return line
    content = line.decode()
    if content.isprintable():
        return line
    escaped = (c if c.isprintable() or c in _JOINERS else _escape_char(c) for c in content)
    return "".join(escaped).encode()


def _escape_char(char: str) -> str:
    # A character beyond the first plane takes a pair of escapes.
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def _pack(value: Any) -> Any:
    if isinstance(value, str):
        if _is_utf8(value):
            return value
        return _pack_name("".join(map(json.replace_half, value)))
    if isinstance(value, dict):
        pairs = [(_pack(k), _pack(v)) for k, v in value.items()]
        # A key of JSON cannot be an object: such a mapping becomes the list of its pairs.
        has_names = all(isinstance(key, str) for key, _ in pairs)
        return dict(pairs) if has_names else {"$pairs": pairs}
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        return float(value) if value.bit_length() <= _FLOAT_BITS else None  # as orjson reads it
    if isinstance(value, (list, tuple)):
        return [_pack(v) for v in value]
    return value


def _pack_name(name: str) -> Any:
    if _is_utf8(name):
        return name
    import binascii

    return {"$bytes": binascii.b2a_base64(git.encode_name(name), newline=False).decode()}


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            try:
                import binascii

                return git.decode_name(binascii.a2b_base64(value["$bytes"]))
            except (TypeError, ValueError):
                raise InputError("'$bytes' is not base64") from None
        if set(value) == {"$pairs"}:
            try:
                return {_unpack(k): _unpack(v) for k, v in value["$pairs"]}
            except (TypeError, ValueError):
                raise InputError("'$pairs' is not a list of pairs") from None
        return {k: _unpack(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_unpack(v) for v in value]
    return value
