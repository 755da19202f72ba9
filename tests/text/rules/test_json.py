"""gitcp.text.json is the standard library's json, in what it reads, writes and refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.text.json import dumps, loads
from tests.support.paths import TOP

_TEXTS = st.text(st.characters(codec=None))  # halves of surrogate pairs too
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS
_VALUES = st.recursive(_LEAVES, lambda v: st.lists(v) | st.dictionaries(_TEXTS, v), max_leaves=8)


@given(_VALUES)
def test_what_is_written_is_what_the_library_writes(value: object) -> None:
    assert dumps(value) == json.dumps(value)
    assert dumps(value, indent=2) == json.dumps(value, indent=2)
    dense = (",", ":")
    assert dumps(value, separators=dense) == json.dumps(value, separators=dense)
    plain = json.dumps(value, indent=2, ensure_ascii=False)
    assert dumps(value, indent=2, ensure_ascii=False) == plain


@given(_VALUES)
def test_what_was_written_is_read_back(value: object) -> None:
    text = json.dumps(value, indent=1)
    assert loads(text) == loads(f" \r\n{text}\t".encode()) == value
    raw = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert loads(raw) == value


@pytest.mark.parametrize("data", ["NaN", "Infinity", "-Infinity", "[NaN, 1e999]"])
def test_numbers_that_json_does_not_know_are_read_as_the_library_reads_them(data: str) -> None:
    assert repr(loads(data)) == repr(json.loads(data))


BAD = [b"", b"{", b'{"a":1}x', b"[1,]", b'{"a" 1}', b"\xff", b"nan", b'"\x01"', b'"\\x"', b"\0"]


@pytest.mark.parametrize("data", BAD)
def test_what_is_no_json_is_refused_in_the_words_of_the_library(data: bytes) -> None:
    with pytest.raises(ValueError) as theirs:
        json.loads(data)
    with pytest.raises(ValueError) as refused:
        loads(data)
    assert str(refused.value) == str(theirs.value)


@pytest.mark.parametrize("data", BAD)
def test_what_is_no_json_is_refused_where_the_library_was_not_imported_yet(data: bytes) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from gitcp.text import json\n"
        "assert 'json.decoder' not in sys.modules\n"
        "try: json.loads(bytes.fromhex(sys.argv[2]))\n"
        "except ValueError: sys.exit(0)\n"
        "sys.exit(1)"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(TOP), data.hex()], check=True)


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-32"])
def test_other_encodings_are_read(coding: str) -> None:
    assert loads('{"é": "\U0001f600"}'.encode(coding)) == {"é": "\U0001f600"}


def test_a_text_nested_too_deeply_is_refused() -> None:
    with pytest.raises(RecursionError):
        loads("[" * 1_000_000)


@pytest.mark.parametrize("value", [object(), {"a": b"bytes"}, [{1, 2}]])
def test_what_json_has_no_word_for_is_a_type_error(value: object) -> None:
    for indent in (None, 2):
        with pytest.raises(TypeError):
            dumps(value, indent)
