"""Records on a stream: whatever is stored, a line is JSON and comes back as it was."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp import git
from gitcp.git import records

_TEXTS = st.text(st.characters(codec=None)).map(lambda t: t.encode("utf-8", "replace").decode())
_NAMES = st.binary(max_size=8).map(git.decode_name)
_LEAVES = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | _TEXTS | _NAMES
_VALUES = st.recursive(
    _LEAVES, lambda v: st.lists(v) | st.dictionaries(_TEXTS | _NAMES, v), max_leaves=8
)


@given(_VALUES)
def test_a_record_comes_back_as_it_was_written(value: object) -> None:
    line = records.dump_record({"type": "x", "value": value})
    assert b"\n" not in line
    assert next(records.read_records(io.BytesIO(line + b"\n")))["value"] == value


@pytest.mark.parametrize(
    ("number", "written"), [(1 << 70, 2.0**70), (-(1 << 64), -(2.0**64)), (10**400, None)]
)
def test_an_integer_that_no_record_can_hold_is_written_as_it_would_be_read(
    number: int, written: Any
) -> None:
    assert json.loads(records.dump_record({"tokens": [number, 1]})) == {"tokens": [written, 1]}
