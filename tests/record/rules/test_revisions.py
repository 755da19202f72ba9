"""The revision of a state, read without the rest of it."""

from __future__ import annotations

import json

import pytest

from gitcp.record.session import find_revision

STATES: dict[str, tuple[object, int | None]] = {
    "in the middle": ({"session_id": "s", "revision": 12, "turns": {}}, 12),
    "at the end": ({"session_id": "s", "revision": 7}, 7),
    "without one": ({"session_id": "s"}, None),
    "in a text": ({"first_prompt": 'say "revision": 3'}, None),
    "twice": ({"revision": 1, "multisession_warned": {"revision": 2}}, None),
    "not a number": ({"revision": "1"}, None),
    "below zero": ({"revision": -1}, None),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", STATES)
def test_a_revision_is_read_or_the_whole_state_is(name: str, indent: int | None) -> None:
    state, revision = STATES[name]
    data = json.dumps(state, indent=indent).encode() + b"\n"
    assert find_revision(data) == revision
    compact = json.dumps(state, separators=(",", ":")).encode()
    assert find_revision(compact) == revision
