"""Whose a line is after it was formatted, wrapped, moved or copied.  S is a session, P a person."""

from __future__ import annotations

import random

import pytest

from gitcp.text.carry.origins import NEW, SAME, carry
from gitcp.text.carry.text import NOTHING, Text
from tests.support.carrying import Written, pair, split, tell_authors, tell_hows

BLOCK = "\n".join(f"value_{n} = compute_it({n})" for n in range(12))
HEAD = "# Copyright the authors of this\n# Licensed under the terms of it\n# See the file for more"


@pytest.mark.parametrize(
    ("before", "authors", "after", "writer", "told"),
    [
        ("d = ['aa', 'bb']  # delta", "S", 'd = ["aa", "bb"]  # delta', "P", "S"),
        (
            "echo = compute(first, second, third)",
            "S",
            "echo = compute(\n    first,\n    second,\n    third,\n)",
            "P",
            "SSSSS",
        ),
        (
            "echo = compute(first, second, third)",
            "S",
            "echo = compute(\n    first,\n    other,\n    third,\n)",
            "P",
            "SSPPP",
        ),
        (
            "total = price * count + tax\nq = 'x'",
            "PP",
            'total = price*count+tax\nq = "x"',
            "S",
            "PP",
        ),
        ("timeout = connect(5)", "S", "timeout = connect(6)", "P", "P"),
        ("if limit < maximum:", "S", "if limit <= maximum:", "P", "P"),
        ("handler = make_handler", "S", "handler = make_handler()", "P", "P"),
        (
            "from pkg import zeta, alpha, beta",
            "S",
            "from pkg import alpha, beta, zeta",
            "P",
            "S",
        ),
        ("from .core import Group", "S", "from .core import Group as Group", "P", "P"),
        (
            "one = load('a')\ntwo = load('b')\nthree = load('c')",
            "SSS",
            "one = load(\"a\")\ntwo = load('b')\nthree = load('c')\nextra = 1",
            "P",
            "SSSP",
        ),
        (
            "one = load('a')\ntwo = load('b')",
            "SS",
            "one = load('a')\n\ntwo = load('b')",
            "P",
            "SPS",
        ),
    ],
    ids=[
        "a formatter changes quotes",
        "a person wraps a call",
        "a person wraps a call and changes an argument",
        "a session's Write repeats a person's line",
        "a number is another",
        "a sign is another",
        "a name is called",
        "a formatter sorts imports",
        "a name is exported",
        "a quote and a line more",
        "a blank line more",
    ],
)
def test_a_line_is_whose_it_was_until_one_changes_what_it_says(
    before: str, authors: str, after: str, writer: str, told: str
) -> None:
    assert tell_authors(before, authors, after, writer) == told


def test_what_a_write_moves_to_a_new_file_keeps_its_authors() -> None:
    source = Written(BLOCK, "SSSSSSPPPPPP", range(3, 9))
    moved = "\n".join(["# header of the file", *BLOCK.split("\n")[3:9]])
    assert tell_authors("", "", moved, "S", source) == "SSSSPPP"
    assert tell_hows("", moved, source) == [NEW] + ["moved"] * 6


def test_a_copied_block_keeps_its_authors_and_a_copied_line_does_not() -> None:
    source = Written(BLOCK, "S" * 12)
    block = "\n".join(BLOCK.split("\n")[:4])
    assert tell_authors("", "", "new_one = 1\n" + block, "P", source) == "PSSSS"
    assert tell_authors("", "", BLOCK.split("\n")[0], "P", source) == "P"


def test_what_stands_in_several_files_comes_from_none() -> None:
    sources = [Written(HEAD, author * 3) for author in "SSP"]
    assert tell_authors("", "", HEAD, "P", *sources) == "PPP"


def test_of_what_did_not_change_each_line_is_its_own() -> None:
    carried = pair(BLOCK, BLOCK.replace("\n", "\n    "))
    assert carried.origins == list(range(12))
    assert {carried.get_how(line) for line in range(12)} == {SAME}
    assert pair("", "").origins == []


def test_a_block_that_moved_within_a_file_keeps_its_lines() -> None:
    lines = BLOCK.split("\n")
    moved = [*lines[4:], *lines[:4]]
    carried = pair(BLOCK, "\n".join(moved))
    assert carried.origins == [*range(4, 12), *range(4)]
    assert carried.get_how(8) == "moved"


def _write_statement(rng: random.Random, number: int) -> list[str]:
    """The words of a statement, none of which any other has."""
    return [f"name{number}_{n}" for n in range(rng.randint(3, 9))]


def _wrap(rng: random.Random, statements: list[list[str]]) -> list[str]:
    """The words in lines of another length."""
    words = [word for words in statements for word in words]
    lines = []
    while words:
        count = rng.randint(1, 9)
        lines.append(rng.choice(["", "    "]) + rng.choice([", ", " ,", ";"]).join(words[:count]))
        words = words[count:]
    return lines


@pytest.mark.parametrize("seed", range(60))
def test_a_wrapped_line_comes_from_the_line_of_most_of_its_words(seed: int) -> None:
    """Exact, as each word names its line."""
    rng = random.Random(seed)
    statements = [_write_statement(rng, number) for number in range(rng.randint(1, 12))]
    before = ["(" + ", ".join(words) + ")" for words in statements]
    after = _wrap(rng, statements)
    carried = pair("\n".join(before), "\n".join(after))
    for line, origin in zip(after, carried.origins, strict=True):
        weights = dict.fromkeys(range(len(before)), 0)
        for word in line.replace(",", " ").replace(";", " ").split():
            weights[int(word[4:].partition("_")[0])] += len(word)
        assert weights[origin] == max(weights.values())


def _edit(rng: random.Random, lines: list[str]) -> set[int]:
    """Put a word of its own into some lines; which lines."""
    edited = {line for line in range(len(lines)) if rng.random() < 0.3}
    for line in edited:
        words = lines[line].split(" ")
        words.insert(rng.randint(0, len(words)), rng.choice(["fresh", "<", "7", "()"]))
        lines[line] = " ".join(words)
    return edited


@pytest.mark.parametrize("seed", range(120))
def test_a_line_with_a_word_of_its_own_is_the_writers(seed: int) -> None:
    rng = random.Random(seed)
    statements = [_write_statement(rng, number) for number in range(rng.randint(1, 12))]
    before = ["(" + ", ".join(words) + ")" for words in statements]
    after = _wrap(rng, statements)
    edited = _edit(rng, after)
    carried = pair("\n".join(before), "\n".join(after))
    assert not [line for line in edited if carried.origins[line] != NOTHING]
    for line, origin in enumerate(carried.origins):
        if origin != NOTHING:
            owners = {int(part.split("_")[0]) for part in after[line].split("name")[1:]}
            assert origin in owners


@pytest.mark.parametrize("seed", range(40))
def test_lines_that_are_equal_are_paired_whatever_stands_around_them(seed: int) -> None:
    """In random texts of few lines: an origin is a line, equal ones are of equal keys."""
    rng = random.Random(seed)
    alphabet = [
        "",
        ")",
        "x",
        "return value",
        "call(first, second)",
        "call(first,",
        "second)",
        "# a b",
    ]
    old = [rng.choice(alphabet) for _ in range(rng.randint(0, 30))]
    new = [rng.choice(alphabet) for _ in range(rng.randint(0, 30))]
    before, after = Text(split("\n".join(old))), Text(split("\n".join(new)))
    carried = carry(before, after)
    assert len(carried.origins) == len(after.lines)
    known = set(b" ".join(before.lines).replace(b",", b" ").replace(b"(", b" ").split())
    for line, origin in enumerate(carried.origins):
        if carried.get_how(line) == SAME:
            assert before.keys[origin] == after.keys[line]
        elif origin != NOTHING and after.keys[line].isalpha():
            assert after.keys[line] in known


def test_two_large_texts_without_a_common_order_are_left_to_the_writer() -> None:
    rng = random.Random(1)
    words = [f"word{n}" for n in range(200)]
    old = [" ".join(rng.choices(words, k=8)) for _ in range(1500)]
    new = [" ".join(rng.choices(words, k=8)) for _ in range(1500)]
    carried = pair("\n".join(old), "\n".join(new))
    assert carried.origins.count(NOTHING) > 1490
