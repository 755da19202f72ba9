"""Who wrote each line, held against an oracle in which every line is unlike all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitcp.text import line_credit, line_evidence, line_replay
from gitcp.text.ids import PERSON, UNKNOWN
from gitcp.text.line_replay import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Writer

A: Writer = ("session-a", "turn-1", "tool-1")
B: Writer = ("session-b", "turn-2", "tool-2")


def replayed(first: Version, steps: Iterable[tuple[Version, Writer]]) -> line_replay.Replay:
    lines = line_replay.Replay(first)
    for step in steps:
        lines.add_step(*step)
    return lines


def version(text: str) -> Version:
    """One letter is one line; the name of a content is the text itself."""
    return Version(text, [c.encode() for c in text])


def authors(first: str, *steps: tuple[str, Writer], at: str | None = None) -> str:
    """The author of each line at the end: a, b, p(erson), u(nknown), - for one of before."""
    lines = replayed(version(first), [(version(text), who) for text, who in steps])
    now = lines.numbers if at is None else lines.find_numbers(version(at), PERSON)
    names = {A: "a", B: "b", PERSON: "p", UNKNOWN: "u"}
    return "".join(names[lines.authors[n]] if n in lines.authors else "-" for n in now)


def test_each_line_keeps_the_author_who_wrote_it() -> None:
    assert authors("xy", ("xay", A), ("xabcy", B), ("Pxabcy", PERSON)) == "p-abb-"


def test_a_change_of_white_space_keeps_the_author() -> None:
    first = Version("1", [b"old"])
    steps = [
        (Version("2", [b"old", b"if x:", b"return 1"]), A),
        (Version("3", [b"  old", b"if  x:\r", b"\treturn 1"]), PERSON),
    ]
    lines = replayed(first, steps)
    assert [lines.authors.get(n) for n in lines.numbers] == [None, A, A]


def test_what_was_there_before_brings_its_authors_back() -> None:
    assert authors("x", ("xab", A), ("x", PERSON), ("xab", B)) == "-aa"


def test_what_returns_in_part_regains_its_authors_where_it_was_restored() -> None:
    lines = replayed(version("x"), [(version("xab"), A), (version("x"), B)])
    lines.add_step(version("xcb"), UNKNOWN, regains=line_replay.accepts_any_line)
    assert [lines.get_author(n) for n in lines.numbers] == [UNKNOWN, UNKNOWN, A]
    assert not set(lines.numbers) & set(lines.takers)


@pytest.mark.parametrize(("stashed", "who"), [(True, A), (False, UNKNOWN)])
def test_a_line_that_went_is_its_authors_again_where_a_stash_has_kept_it(
    stashed: bool, who: Writer
) -> None:
    lines = replayed(version("x"), [(version("xab"), A)])
    lines.add_step(version("x"), PERSON, is_kept=stashed)
    lines.add_step(version("xcb"), PERSON, regains=lambda line: True)
    assert [lines.get_author(n) for n in lines.numbers] == [UNKNOWN, PERSON, who]


def test_what_a_session_types_that_another_had_typed_is_its_own() -> None:
    lines = replayed(version("x"), [(version("xa"), A), (version("x"), PERSON)])
    lines.add_step(version("xab"), B, regains=lambda line: True)
    assert [lines.get_author(n) for n in lines.numbers][1:] == [B, B]


@pytest.mark.parametrize("who", [PERSON, B])
def test_a_line_that_only_moves_keeps_its_author_and_goes_by_who_moved_it(who: Writer) -> None:
    lines = line_replay.Replay(version("axyz"), lambda: {0: A})
    lines.add_step(version("xyzpa"), who, regains=lambda line: True)
    assert [lines.get_author(n) for n in lines.numbers][3:] == [who, A]
    part = line_credit.credit_path(lines, [version("axyz")], version("xyzpa"))
    assert part.added == [(4, who), (5, A)] and part.removed == [who]


def test_a_line_that_is_only_indented_goes_by_who_indented_it() -> None:
    parent, now = (Version(name, [b"stays", name.encode()]) for name in ("old line", "  old line"))
    lines = replayed(parent, [(now, B)])
    part = line_credit.credit_path(lines, [parent], now)
    assert part.added == [(2, UNKNOWN)] and part.removed == [B]
    assert lines.get_taker(0, PERSON) == PERSON, "it stands as it was"


WRAPPED = b"echo = compute(\n    first,\n    second,\n    third,\n)".split(b"\n")


def form(lines: Sequence[bytes], *steps: tuple[Sequence[bytes], Writer]) -> line_replay.Replay:
    """A replay of contents whose names are their lines."""
    named = [(Version(repr(lines), lines), who) for lines, who in steps]
    return replayed(Version(repr(lines), lines), named)


def tell(lines: line_replay.Replay) -> list[Writer]:
    return [lines.get_author(number) for number in lines.numbers]


ONE = [b"echo = compute(first, second, third)"]


def test_a_line_that_becomes_several_keeps_its_author_and_nobody_took_it() -> None:
    lines = form([b"top"], ([b"top", *ONE], A), ([b"top", *WRAPPED], PERSON))
    assert tell(lines) == [UNKNOWN] + [A] * 5
    assert len(set(lines.numbers)) == 6 and not lines.takers
    now = Version("now", [b"top", *WRAPPED])
    part = line_credit.credit_path(lines, [lines.first], now)
    assert part.added == [(n, A) for n in range(2, 7)] and not part.lost


def test_several_lines_that_become_one_are_taken_by_nobody() -> None:
    lines = form([], (WRAPPED, A), (ONE, PERSON))
    assert tell(lines) == [A] and not lines.takers


def test_a_form_of_a_line_goes_by_who_gave_it() -> None:
    lines = form(ONE, (WRAPPED, B))
    part = line_credit.credit_path(lines, [lines.first], Version("now", WRAPPED))
    assert part.removed == [B] and part.added == [(n, UNKNOWN) for n in range(1, 6)]


def test_who_removes_a_line_in_its_new_form_takes_it() -> None:
    lines = form([], (ONE, A), (WRAPPED, PERSON), ([], B))
    assert set(lines.takers.values()) == {B} and len(lines.takers) == 5


def test_a_form_that_comes_back_is_the_line_that_it_was() -> None:
    lines = form([], (ONE, A), (WRAPPED, PERSON), ([*ONE, b"pass"], PERSON))
    assert lines.numbers[0] == 0 and tell(lines) == [A, PERSON] and not lines.takers


def test_a_line_typed_beside_another_form_of_it_is_its_writers() -> None:
    step = ([*WRAPPED, *ONE], PERSON)
    lines = form([], (ONE, A), (WRAPPED, PERSON))
    lines.add_step(Version("more", step[0]), PERSON, regains=line_replay.accepts_any_line)
    assert tell(lines) == [A] * 5 + [PERSON]


def test_a_copied_block_has_the_authors_of_its_lines() -> None:
    block = [b"value_%d = compute_it(%d)" % (n, n) for n in range(4)]
    lines = form([], (block, A), ([*block, b"", *block], B))
    assert tell(lines) == [A] * 4 + [B] + [A] * 4
    assert len(set(lines.numbers)) == 9


def test_the_author_of_a_first_content_is_asked_for_a_form_of_its_line() -> None:
    lines = line_replay.Replay(Version("one", ONE), lambda: {0: A})
    lines.add_step(Version("wrapped", WRAPPED), PERSON)
    assert tell(lines) == [A] * 5


def test_who_wrote_the_first_content_is_asked_where_it_matters_and_once() -> None:
    asked: list[int] = []
    lines = line_replay.Replay(version("xyz"), lambda: {asked.append(1) or 0: A})  # type: ignore[func-returns-value]
    lines.add_step(version("xyzp"), PERSON, regains=line_replay.accepts_any_line)
    line_credit.credit_path(lines, [version("xyz")], version("xyzp"))
    assert not asked
    assert [lines.get_author(n) for n in (0, 1, 0)] == [A, UNKNOWN, A] and asked == [1]


def test_half_of_a_content_has_the_authors_of_the_whole() -> None:
    assert authors("", ("abcd", A), ("abcdef", B), at="acef") == "aabb"


def test_what_only_the_index_has_is_the_callers_to_say() -> None:
    assert authors("", ("abcd", A), at="abXd") == "aapa"


def test_who_took_a_line_is_who_did_it_last() -> None:
    steps = [("xy", A), ("xyz", B), ("x", A)]
    lines = replayed(version("xyz"), [(version(t), who) for t, who in steps])
    assert lines.takers == {1: A, 2: A}


@pytest.mark.parametrize("data", [b"a\0b\nc\n", b"line\n" * (line_evidence.LARGEST // 5 + 1)])
def test_a_binary_or_huge_file_has_one_author(data: bytes) -> None:
    assert line_evidence.has_no_lines(data)
    assert len(line_evidence.split_text_lines("oid", data)) == 1


def test_a_text_of_two_mebibytes_still_has_lines() -> None:
    data = b"line\n" * (line_evidence.LARGEST // 5)
    assert len(line_evidence.split_text_lines("oid", data)) == line_evidence.LARGEST // 5


# (line, author) pairs are the oracle: a text is a list of them, and no two lines are alike.
EDIT = st.tuples(
    st.sampled_from([A, B, PERSON]),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["add", "cut", "change"])), max_size=6),
)


@given(st.integers(0, 8), st.lists(EDIT, max_size=8))
def test_authors_and_sums_are_those_of_the_oracle(
    size: int, edits: list[tuple[Writer, list[tuple[int, str]]]]
) -> None:
    fresh = iter(range(10_000))
    truth: list[tuple[bytes, Writer | None]] = [
        (b"line %d" % next(fresh), None) for _ in range(size)
    ]
    parent = Version("parent", [line for line, _ in truth])
    lines = line_replay.Replay(parent)
    taken: dict[bytes, Writer] = {}
    for step, (who, changes) in enumerate(edits):
        for place, what in changes:
            at = place % (len(truth) + 1)
            if what != "add" and at < len(truth):
                line, author = truth.pop(at)
                if author is None:
                    taken[line] = who
            if what != "cut":
                truth.insert(at, (b"line %d" % next(fresh), who))
        lines.add_step(Version(f"step {step}", [line for line, _ in truth]), who)
    committed = Version(f"step {len(edits) - 1}" if edits else "parent", [x for x, _ in truth])
    credit = line_credit.credit_path(lines, [parent], committed)
    assert credit.added == [(n, who) for n, (_, who) in enumerate(truth, 1) if who]
    assert sorted(credit.removed) == sorted(taken.values())
    sums = [line_credit.compute_attribution(sid, [credit]) for sid in ("session-a", "session-b")]
    for key in ("lines_added", "lines_removed"):
        one, two = (told[key] for told in sums)
        assert (one["agent"], one["others"]) == (two["others"], two["agent"])
        assert (one["person"], one["unknown"]) == (two["person"], two["unknown"])
    added = sums[0]["lines_added"]
    assert sum(added.values()) == len(credit.added)
    assert sum(sums[0]["lines_removed"].values()) == len(credit.removed)
    assert sums[0]["human_added"] + sums[0]["human_modified"] == added["person"]
