"""Blocks that were moved or copied: what is enough, what is ambiguous, what goes with them."""

from __future__ import annotations

import pytest

from tests.support.carrying import Written, pair, tell_authors, tell_hows

LINES = [f"part_{n} = compute_value_of({n})" for n in range(8)]


def _join(*lines: str) -> str:
    return "\n".join(lines)


def test_a_moved_line_of_twenty_bytes_of_words_is_enough() -> None:
    source = Written(LINES[0], "S", [0])
    assert tell_authors("", "", LINES[0], "P", source) == "S"


@pytest.mark.parametrize("line", ["return value_of", "x = 1", "})"])
def test_a_moved_line_that_says_little_is_the_writers(line: str) -> None:
    assert tell_authors("", "", line, "P", Written(line, "S", [0])) == "P"


@pytest.mark.parametrize(("count", "told"), [(2, "PP"), (3, "SSS"), (4, "SSSS")])
def test_a_copied_block_has_three_telling_lines(count: int, told: str) -> None:
    source = Written(_join(*LINES), "S" * 8)
    assert tell_authors("", "", _join(*LINES[:count]), "P", source) == told


def test_a_block_is_known_without_its_quotes_brackets_and_indentation() -> None:
    source = Written("value_of_it = call('first text', other)", "S", [0])
    assert tell_authors("", "", '    value_of_it = call("first text", (other))', "P", source) == "S"


def test_a_call_of_what_was_named_is_no_move() -> None:
    source = Written("handler_of_it = make_the_handler", "S", [0])
    assert tell_authors("", "", "handler_of_it = make_the_handler()", "P", source) == "P"


def test_blank_lines_and_brackets_in_a_block_go_with_it() -> None:
    block = _join(LINES[0], "", "}", LINES[1])
    source = Written(block, "SPPS", range(4))
    assert tell_hows("", block, source) == ["moved"] * 4
    assert tell_authors("", "", block + "\n\n}", "P", source)[-2:] == "PP"


def test_equal_lines_beside_a_telling_line_go_with_it() -> None:
    block = _join("x = 1", LINES[0], "y = 2")
    assert tell_authors("", "", block, "P", Written(block, "ABC", range(3))) == "ABC"


def test_what_one_source_lost_is_moved_though_another_has_it() -> None:
    lost = Written(_join(*LINES[:3]), "SSS", range(3))
    kept = Written(_join(*LINES[:3]), "AAA")
    assert tell_authors("", "", _join(*LINES[:3]), "P", kept, lost) == "SSS"


def test_what_two_sources_lost_comes_from_none() -> None:
    lost = Written(_join(*LINES[:3]), "SSS", range(3))
    assert tell_authors("", "", _join(*LINES[:3]), "P", lost, lost) == "PPP"


def test_a_line_that_was_moved_and_repeated_comes_from_none() -> None:
    lost = Written(_join(LINES[0], LINES[0]), "SA", range(2))
    assert tell_authors("", "", LINES[0], "P", lost) == "P"


def test_a_lost_line_that_is_put_in_twice_comes_from_none() -> None:
    lost = Written(LINES[0], "S", [0])
    assert tell_authors("", "", _join(LINES[0], "between = 1", LINES[0]), "P", lost) == "PPP"


def test_a_block_ends_where_the_writer_put_a_line_between() -> None:
    source = Written(_join(*LINES[:6]), "S" * 6, range(6))
    after = _join(*LINES[:3], "between = 1", *LINES[3:6])
    assert tell_authors("", "", after, "P", source) == "SSSPSSS"


def test_the_sources_are_numbered_as_given() -> None:
    sources = [Written(LINES[n], "S", [0]) for n in range(3)]
    carried = pair("first_line = 1", _join("first_line = 1", LINES[2]), *sources)
    assert carried.origins == [0, -1]
    assert carried.places[1].source == 2
    assert carried.get_how(1) == "moved"


def test_a_block_copied_within_a_file_keeps_its_lines() -> None:
    before = _join(*LINES)
    carried = pair(before, _join(*LINES, *LINES[:4]))
    assert carried.origins[8:] == [0, 1, 2, 3]
    assert carried.get_how(8) == "copied"
