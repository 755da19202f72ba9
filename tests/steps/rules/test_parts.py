"""The parts of a file's change by their authors: every part alone, and all of them together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitcp.steps.whose import parts
from gitcp.steps.whose.parts import ChosenOperations, Operation, Weave
from gitcp.text import line_evidence
from gitcp.text.ids import PERSON
from gitcp.text.line_replay import Version
from gitcp.text.record_types import Writer

A: Writer = ("a", "t1", "c1")
A2: Writer = ("a", "t2", "c2")
B: Writer = ("b", "t1", "c1")
C: Writer = ("c", "t1", "c1")
WRITERS = (A, A2, B, C, PERSON)
# The stories are the same in every run, but for LONG=1, which looks for new ones.
many = settings(
    max_examples=300,
    deadline=None,
    derandomize=not os.environ.get("LONG"),
    suppress_health_check=list(HealthCheck),
)
Step = tuple[Writer, str]  # who wrote, the whole content with a letter for each line


def version(text: str) -> Version:
    return Version(text or "", [letter.encode() for letter in text])


def replay(first: str, steps: Iterable[Step]) -> Weave:
    weave = Weave(version(first))
    for who, text in steps:
        weave.add_step(version(text), who, line_evidence.is_significant)
    return weave


def stage(
    staged: str,
    weave: Weave,
    text: str,
    who: Iterable[Writer],
    creator: Writer | None = None,
    **how: bool,
) -> tuple[str, ChosenOperations, Sequence[Operation]]:
    """The content that is staged for some authors."""
    operations = parts.list_operations(weave, version(staged), version(text), creator or PERSON)
    choice = parts.choose_operations(operations, {*who}.__contains__, creator, **how)
    data = parts.build_content(operations, choice.taken, (True, True), takes_end=True)
    return data.replace(b"\n", b"").decode(), choice, operations


CASES = {
    "adjacent changed lines are apart": ("abc", [(A, "aBc"), (B, "aBC")], "abC", "aBc"),
    "a line after another's": ("ab", [(A, "a1b"), (B, "a12b")], "a2b", "a1b"),
    "a line before another's": ("ab", [(A, "a1b"), (B, "a21b")], "a2b", "a1b"),
    "a line before another's replacement": ("abc", [(A, "a1c"), (B, "a21c")], "a2bc", "a1c"),
    "a line after another's replacement": ("abc", [(A, "a1c"), (B, "a12c")], "ab2c", "a1c"),
    "a line in the place of a deleted one": ("abc", [(A, "ac"), (B, "a2c")], "ab2c", "ac"),
    "a deletion beside a line": ("abc", [(A, "a1bc"), (B, "a1c")], "ac", "a1bc"),
    "a line replaced within a replacement": ("abcd", [(A, "a12d"), (B, "a1xd")], "abcd", "a1cd"),
    "a moved line": ("abc", [(A, "bca"), (B, "bcax")], "abcx", "bca"),
    "between two blocks of one author": (
        "ab",
        [(A, "a1b"), (B, "a12b"), (A, "a123b")],
        "a2b",
        "a13b",
    ),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_part_is_as_if_its_author_had_been_alone(case: str) -> None:
    first, steps, of_b, of_a = CASES[case]
    weave, text = replay(first, steps), steps[-1][1]
    assert stage(first, weave, text, [B])[0] == of_b
    assert stage(first, weave, text, [A])[0] == of_a
    assert stage(first, weave, text, [A, B])[0] == text
    assert stage(of_a, weave, text, [B], with_overlaps=True)[0] == text


def test_a_line_replaced_by_two_authors_overlaps() -> None:
    weave = replay("abc", [(A, "a1c"), (B, "a2c")])
    for who in (A, B):
        text, choice, _ = stage("abc", weave, "a2c", [who])
        assert text == "abc"
        assert [[o.line for o in group] for group in choice.overlaps] == [[b"b", b"2"]]
        assert stage("abc", weave, "a2c", [who], with_overlaps=True)[0] == "a2c"
    assert stage("abc", weave, "a2c", [A, B])[0] == "a2c"


def test_of_a_replacement_of_equal_length_only_the_rewritten_line_overlaps() -> None:
    weave = replay("abcde", [(A, "a123e"), (B, "a1x3e")])
    text, choice, _ = stage("abcde", weave, "a1x3e", [A])
    assert text == "a1c3e"
    assert len(choice.overlaps) == 1


def test_a_replacement_of_another_length_overlaps_as_a_whole() -> None:
    weave = replay("abcde", [(A, "a12e"), (B, "a1xe")])
    assert stage("abcde", weave, "a1xe", [A])[0] == "abcde"
    assert stage("abcde", weave, "a1xe", [A], with_overlaps=True)[0] == "a1xe"


def test_a_line_inside_an_unstaged_block_needs_it() -> None:
    weave = replay("az", [(A, "a123z"), (B, "a12x3z")])
    text, choice, _ = stage("az", weave, "a12x3z", [B])
    assert (text, [need for _, need in choice.needs]) == ("az", [["a"]])
    assert stage("az", weave, "a12x3z", [B], with_needed=True)[0] == "a12x3z"
    assert stage("az", weave, "a12x3z", [A])[0] == "a123z"
    assert stage("a123z", weave, "a12x3z", [B])[0] == "a12x3z"


def test_it_needs_the_block_also_where_a_third_wrote_beside_it() -> None:
    weave = replay("az", [(A, "a123z"), (B, "a12x3z"), (C, "a12xy3z")])
    text, choice, _ = stage("az", weave, "a12xy3z", [B])
    assert (text, [need for _, need in choice.needs]) == ("az", [["a"]])


def test_what_needs_a_needing_line_needs_both() -> None:
    weave = replay("az", [(A, "a12z"), (B, "a1xy2z"), (C, "a1xvy2z")])
    text, choice, _ = stage("az", weave, "a1xvy2z", [C])
    assert (text, [need for _, need in choice.needs]) == ("az", [["b"]])
    assert stage("az", weave, "a1xvy2z", [C], with_needed=True)[0] == "a1xvy2z"
    assert stage("az", weave, "a1xvy2z", [B, C])[0] == "az"


def test_lines_of_a_file_need_the_one_who_made_it() -> None:
    weave = replay("", [(A, "12"), (B, "12x")])
    text, choice, _ = stage("", weave, "12x", [B], A)
    assert (text, [need for _, need in choice.needs]) == ("", [["a"]])
    assert stage("", weave, "12x", [B], A, with_needed=True)[0] == "12x"
    assert stage("", weave, "12x", [A], A)[0] == "12"


def test_of_a_moved_file_the_one_who_moved_it_has_the_old_lines() -> None:
    weave = replay("abc", [(B, "abxc")])
    assert stage("", weave, "abxc", [A], A)[0] == "abc"
    assert stage("", weave, "abxc", [B], A)[0] == ""


def test_the_end_of_a_file_is_of_the_side_that_its_last_line_is_from() -> None:
    weave = replay("ab", [(A, "abx"), (B, "1abx")])
    operations = parts.list_operations(weave, version("ab"), version("1abx"), PERSON)
    for who, ends, data in (
        (A, (False, True), b"a\nb\nx\n"),
        (B, (False, True), b"1\na\nb"),
        (A, (True, False), b"a\nb\nx"),
        (B, (True, False), b"1\na\nb\n"),
    ):
        taken = parts.choose_operations(operations, {who}.__contains__).taken
        assert parts.build_content(operations, taken, ends, takes_end=True) == data


LINES = st.text("abcdefgh", max_size=8)


@st.composite
def stories(draw: st.DrawFn, equal: bool = False, moving: bool = True) -> tuple[str, list[Step]]:
    """A content and what several authors made of it.  equal: lines may be equal to others.
    moving: lines move, and so become equal to those that they were."""
    first = text = draw(LINES) if equal else "abcdefgh"[: draw(st.integers(0, 8))]
    steps: list[Step] = []
    new = iter(map(chr, range(0x4E00, 0x5E00)))
    for _ in range(draw(st.integers(1, 7))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 3)))
        added = draw(LINES)[:3] if equal else "".join(islice(new, draw(st.integers(0, 3))))
        gone, text = text[start:end], text[:start] + added + text[end:]
        if moving and draw(st.integers(0, 5)) == 0:
            place = draw(st.integers(0, len(text)))
            text = text[:place] + gone + text[place:]
        steps.append((draw(st.sampled_from(WRITERS)), text))
    return first, steps


def listed(choice: ChosenOperations) -> set[int]:
    """The groups of which an operation is told to be left out."""
    told = [*choice.overlaps, *(run for run, _ in choice.needs)]
    return {operation.group for run in told for operation in run}


@pytest.mark.thorough
@many
@given(stories() | stories(equal=True))
def test_all_parts_together_are_the_worktree(story: tuple[str, list[Step]]) -> None:
    first, steps = story
    weave, text = replay(first, steps), steps[-1][1]
    assert stage(first, weave, text, [])[0] == first
    together, choice, _ = stage(first, weave, text, WRITERS)
    assert (together, listed(choice)) == (text, set())


@pytest.mark.thorough
@many
@given(stories(), st.permutations(WRITERS))
def test_the_parts_one_after_the_other_are_the_worktree(
    story: tuple[str, list[Step]], order: list[Writer]
) -> None:
    first, steps = story
    weave, text, staged = replay(first, steps), steps[-1][1], first
    for who in order:
        staged = stage(staged, weave, text, [who])[0]
    for who in order:
        staged = stage(staged, weave, text, [who], with_overlaps=True, with_needed=True)[0]
    assert staged == text


@pytest.mark.thorough
@many
@given(stories() | stories(equal=True), st.sampled_from(WRITERS))
def test_no_part_has_a_line_of_another(story: tuple[str, list[Step]], who: Writer) -> None:
    first, steps = story
    weave = replay(first, steps)
    _, choice, operations = stage(first, weave, steps[-1][1], [who])
    assert {operations[n].who for n in choice.taken} <= {who}
    own = {n for n, o in enumerate(operations) if o.who == who and o.kind != parts.KEPT}
    assert {operations[n].group for n in own - choice.taken} <= listed(choice)


@pytest.mark.thorough
@many
@given(stories(moving=False), st.permutations(WRITERS))
def test_parts_that_need_nothing_come_in_any_order(
    story: tuple[str, list[Step]], order: list[Writer]
) -> None:
    first, steps = story
    weave, text = replay(first, steps), steps[-1][1]
    free = [who for who in order if not listed(stage(first, weave, text, [who])[1])]
    results = {stage(first, weave, text, free)[0]}
    for sequence in (free, free[::-1]):
        staged = first
        for who in sequence:
            staged = stage(staged, weave, text, [who])[0]
        results.add(staged)
    assert len(results) == 1
