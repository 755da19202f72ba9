"""The short ids of sessions: of one width, distinct, and each of them names its session."""

from __future__ import annotations

import hashlib

import pytest

from gitcp.text.short_ids import is_named, list_named, shorten_id

UUID = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"
ALIKE = [f"ses_30bfbb6f4ffeJ2960akRy1tOR{n}" for n in range(500)]


def test_a_short_id_is_the_beginning_of_a_hash() -> None:
    assert shorten_id(UUID) == hashlib.sha1(UUID.encode()).hexdigest()[:8]
    assert shorten_id("") == ""


def test_ids_that_begin_alike_differ() -> None:
    short = {shorten_id(session_id) for session_id in ALIKE}
    assert len(short) == len(ALIKE) and {len(name) for name in short} == {8}


@pytest.mark.parametrize(
    ("name", "named"),
    [
        (UUID, True),
        (UUID[:8], True),
        (shorten_id(UUID), True),
        (shorten_id(UUID)[:4], True),
        (shorten_id(UUID)[:3], False),
        (f"{shorten_id(UUID)}0", False),
        ("", False),
        ("zzzz", False),
    ],
)
def test_an_id_and_a_short_id_and_their_beginnings_name_a_session(name: str, named: bool) -> None:
    assert is_named(UUID, name) == named


def test_a_whole_name_goes_before_beginnings() -> None:
    short = shorten_id(UUID)
    foreign = f"{short}-1111-4111-8111-111111111111"
    assert list_named(short, [UUID, foreign]) == [UUID]
    assert list_named(foreign, [UUID, foreign]) == [foreign]
    assert list_named("a", ["a", "ab"]) == ["a"]
    assert list_named("ses_", [*ALIKE[:2], ALIKE[0]]) == ALIKE[:2]
