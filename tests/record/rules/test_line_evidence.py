from __future__ import annotations

import pytest

from gitcp.record.match.open_edits import has_enough_in_common, is_contained
from gitcp.record.match.remains import has_line, holds_change, is_change_left
from gitcp.text.ids import is_binary
from gitcp.text.line_evidence import find_added_lines, select_significant

LONG = [f"a line that says something {n}".encode() for n in range(4)]


def text(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (None, b"x\ny\n", {b"x", b"y"}),
        (b"", b"x\ny", {b"x", b"y"}),
        (b"x\n", b"x\nx\n", set()),
        (b"x\ny\n", b"y\nx\n", set()),
        (b"x\n", b"x", set()),
        (b"x\r\n", b"x\nz\r\n", {b"z"}),
        (b"x\n", b"x\n\n  \n", set()),
        (b"x\n", b" x\n", {b" x"}),
        (b"x\n", None, set()),
    ],
)
def test_added_lines_are_a_set_without_blanks_order_or_line_endings(
    a: bytes | None, b: bytes | None, want: set[bytes]
) -> None:
    assert find_added_lines(a, b) == want


@pytest.mark.parametrize(
    ("line", "counts"),
    [(b"123456789", False), (b"1234567890", True), (b"  123456789  ", False), (b"\t}", False)],
)
def test_a_significant_line_has_ten_bytes_when_trimmed(line: bytes, counts: bool) -> None:
    assert bool(select_significant({line})) is counts


@pytest.mark.parametrize(
    ("some", "record", "want"),
    [
        ({b"x"}, {b"w", b"x"}, True),
        ({b"x"}, {b"x"}, True),
        ({b"x", b"q"}, {b"w", b"x"}, False),
        (set(), {b"w", b"x"}, False),
        ({b"x"}, set(), False),
        ({b"}", b"--"}, {b"}", b"--"}, False),
        ({"שלום".encode()}, {"שלום".encode()}, True),
        ({b"\x80"}, {b"\x80"}, True),
    ],
)
def test_containment_needs_a_line_and_all_of_them(
    some: set[bytes], record: set[bytes], want: bool
) -> None:
    assert is_contained(some, record) is want


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (LONG[:2], LONG[:2], True),
        (LONG[:2], LONG[1:3], False),
        (LONG[:3], LONG[1:4], True),
        (LONG[:1], LONG[:3], False),
        (LONG[:3], LONG[:1], True),
        (LONG[:1], LONG[1:3], False),
        ([b"short"], [b"short"], False),
        ([], LONG, False),
        ([b"  " + LONG[0]], [LONG[0] + b"\t"], True),
    ],
)
def test_two_significant_lines_in_common_or_all_of_the_record(
    a: list[bytes], b: list[bytes], want: bool
) -> None:
    assert has_enough_in_common(set(a), set(b)) is want


def test_a_nul_among_the_first_bytes_is_binary() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary(b"a" * 8000 + b"\0")


BASE = text(b"one", b"two", b"three")
TIP = text(b"one", b"two", b"if x:", b"    agent()", b"three")
# base, tip, worktree, survives exactly, survives fuzzily
SURVIVAL = [
    (BASE, TIP, TIP, True, True),
    (BASE, TIP, BASE, False, False),
    (BASE, TIP, text(b"one", b"if x:"), True, True),
    (BASE, TIP, text(b"one", b"\tagent()"), False, True),
    (BASE, TIP, text(b"agent ()"), False, False),
    (BASE, TIP, TIP.replace(b"\n", b"\r\n"), True, True),
    (BASE, text(b"one"), text(b"one", b"new"), True, True),
    (BASE, text(b"one"), text(b"one", b"two"), False, False),
    (BASE, text(b"one"), text(b"one", b" two"), True, False),
    (BASE, text(b"one", b"two", b"three", b""), BASE, False, False),
    (text(b"x"), text(b"  x"), text(b"  x", b"y"), True, True),
    (text(b"x"), text(b"  x"), text(b"x", b"y"), False, False),
    (None, text(b"new"), text(b"new", b"more"), True, True),
    (None, text(b"new"), None, False, False),
    (None, b"", b"", True, True),
    (None, b"", b"x", False, False),
    (BASE, None, None, True, True),
    (BASE, None, BASE, False, False),
    (b"\0a", b"\0b", b"\0b", True, True),
    (b"\0a", b"\0b\nagent", b"\0c\nagent", False, False),
    (b"text", b"\0b", b"text", False, False),
]


@pytest.mark.parametrize(("base", "tip", "worktree", "exact", "fuzzy"), SURVIVAL)
def test_what_the_agent_did_survives_or_not(
    base: bytes | None, tip: bytes | None, worktree: bytes | None, exact: bool, fuzzy: bool
) -> None:
    assert is_change_left(base, tip, worktree, "exact") is exact
    assert is_change_left(base, tip, worktree, "fuzzy") is fuzzy


INCLUDED = [
    ("as it is", b"a\nb\n", b"a\n", b"a\nb\n", True),
    ("with more", b"a\nb\nc\n", b"a\n", b"a\nb\n", True),
    ("formatted", b"a\n\n  b = f(1)\n", b"a\n", b"a\nb=f( 1 )\n", True),
    ("a line of it changed", b"a\nB\n", b"a\n", b"a\nb\n", False),
    ("half of it", b"a\nb\n", b"a\n", b"a\nb\nc\n", False),
    ("a line it took is there", b"a\nb\n", b"a\n", b"b\n", False),
    ("lines it took are gone", b"b\n", b"a\nb\nc\n", b"b\n", True),
    ("a new file", b"b\nc\n", b"", b"b\n", True),
    ("only moved", b"a\nb\n", b"a\nb\n", b"b\na\n", False),
    ("binary", b"\0a\nb\n", b"a\n", b"a\nb\n", False),
]


@pytest.mark.parametrize("row", INCLUDED, ids=lambda row: row[0])
def test_a_text_includes_a_change_with_all_its_lines(
    row: tuple[str, bytes, bytes, bytes, bool],
) -> None:
    _, whole, base, tip, want = row
    assert holds_change(whole, base, tip) == want


FILE = b"one = 1\ntwo = 2\n"
TOP, END = b"top = 0\n" + FILE, FILE + b"end = 3\n"
BOTH = b"top = 0\n" + END
CASES = {
    "the line it added": (FILE, TOP, FILE, TOP, True),
    "the other's line alone": (TOP, BOTH, FILE, TOP, False),
    "both": (TOP, BOTH, FILE, BOTH, True),
    "the line it removed": (FILE, b"one = 1\n", FILE, b"one = 1\nmore = 4\n", True),
    "a removed line that stays": (FILE, b"one = 1\n", FILE, TOP, False),
    "its line, reformatted": (FILE, TOP, FILE, b"top  =  0\n" + FILE, True),
    "a new file": (None, FILE, None, FILE, True),
    "another new file": (None, FILE, None, b"three = 3\n", False),
    "no line that means anything": (FILE, FILE + b"}\n", FILE, TOP, True),
    "binary content": (b"\0a", b"\0b", b"\0a", b"\0c", True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_commit_holds_a_line_of_an_edit(name: str) -> None:
    *contents, want = CASES[name]
    assert has_line(contents[:2], contents[2:]) is want
