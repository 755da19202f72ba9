"""What git status prints, taken apart; what is too much for a snapshot."""

from __future__ import annotations

import pytest

from gitcp.git.status import list_unreadable, parse_status
from gitcp.record.snapshot.limits import list_excess

A, B = "a" * 40, "b" * 40
HEADER = b"# branch.oid %s\0# branch.head main\0" % A.encode()


def test_the_header_names_head_and_branch() -> None:
    status = parse_status(HEADER)
    assert (status.head, status.branch, status.rows, status.untracked) == (A, "main", [], [])


def test_unborn_and_detached_are_none() -> None:
    status = parse_status(b"# branch.oid (initial)\0# branch.head (detached)\0# branch.ab +1 -0\0")
    assert (status.head, status.branch) == (None, None)


@pytest.mark.parametrize(
    ("line", "path", "xy", "head", "moved"),
    [
        (f"1 .M N... 100644 100644 100644 {A} {A} a b", "a b", ".M", ("100644", A), False),
        (f"1 A. N... 000000 100644 100644 {'0' * 40} {A} n", "n", "A.", None, False),
        (f"1 D. N... 100644 000000 000000 {A} {'0' * 40} d/e", "d/e", "D.", ("100644", A), False),
        (f"1 .M SC.. 160000 160000 160000 {A} {A} s", "s", ".M", ("160000", A), False),
        (f"1 D. N... 160000 000000 000000 {A} {'0' * 40} s", "s", "D.", ("160000", A), True),
        (f"1 A. N... 000000 160000 160000 {'0' * 40} {A} s", "s", "A.", None, True),
        (f"1 T. N... 100644 160000 160000 {A} {B} s", "s", "T.", ("100644", A), True),
        (f"u UU N... 100644 100644 100644 100644 {A} {A} {B} c\nd", "c\nd", "UU", None, False),
    ],
)
def test_a_row(line: str, path: str, xy: str, head: tuple[str, str] | None, moved: bool) -> None:
    (row,) = parse_status(line.encode() + b"\0").rows
    assert (row.path, row.x + row.y, row.head, row.moved) == (path, xy, head, moved)


def test_untracked_names_are_bytes_kept_and_ignored_ones_passed_over() -> None:
    status = parse_status(b"? a\xff b\0? n/\0! o\0")
    assert status.untracked == ["a\udcff b", "n/"]


@pytest.mark.parametrize("line", [b"2 R. x\0", b"M a\0"])
def test_another_format_is_an_error(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a line of git status"):
        parse_status(line)


def test_warnings_tell_what_git_could_not_see() -> None:
    said = (
        b"warning: could not open directory 'it's/': Permission denied\n"
        b"src/a: b: Permission denied\n"
        b'error: open("x"): Permission denied\n'
        b"src/b: Too many levels of symbolic links\n"
        b"warning: in the working copy of 'x', CRLF will be replaced by LF\n"
    )
    found = [("folder", "it's"), ("closed", "src/a: b"), ("behind", "src/b")]
    assert list(list_unreadable(said)) == found


@pytest.mark.parametrize(
    ("files", "left_out"),
    [
        ([], {}),
        ([("a", 10), ("b", 11)], {"b": "too-large"}),
        ([("c", 5), ("b", 5), ("a", 5), ("d", 5), ("e", 1)], {"d": "over-budget"}),
        ([("b", 10), ("a", 10), ("c", 7)], {"b": "over-budget"}),
        ([("z", 0), ("a", 10), ("b", 6)], {}),
    ],
)
def test_the_small_files_fit_in_the_budget(
    files: list[tuple[str, int]], left_out: dict[str, str]
) -> None:
    assert dict(list_excess(files, 10, 17)) == left_out
    assert dict(list_excess(reversed(files), 10, 17)) == left_out
