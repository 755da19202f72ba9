"""Which lines of a run are proven by their neighbours alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gitcp.checkpoints.format.line_authors import build_nobody
from gitcp.lines.committed.neighbours import find_neighbours, is_slight

if TYPE_CHECKING:
    from gitcp.checkpoints.format.line_authors import Author

# A line of a case is its author (`a` and `b` are sessions, `p` the person, `.` nobody, `x` somebody
# else, `e` the edit of a), and its text.
CASES = {
    "between two of one": ("a:foo .: .:}); a:bar", "2 3"),
    "an import between two": ("a:foo .:import-x .:from-x .:#include-<x> a:bar", "2 3 4"),
    "a line with a word of its own": ("a:foo .:word .: a:bar", "3"),
    "between two authors": ("a:foo .: b:bar", ""),
    "between lines of the person": ("p:foo .:} p:bar", "2"),
    "in the range of the edit": ("a:foo e:word e:} .:other", "2 3"),
    "somebody else has it": ("a:foo x:} .:} a:bar", "3"),
    "at the end of a run": ("a:foo .:} .: .:word .:}", "2 3"),
    "at the start of a run": ("x:foo .:} .: a:foo", "2 3"),
    "no import at an end": ("a:foo .:import-x", ""),
    "nobody is proven": (".:} .: .:word", ""),
}


def author(name: str) -> Author:
    if name == "p":
        return build_nobody("person")
    return {**build_nobody("session"), "session_id": name}


@pytest.mark.parametrize("name", CASES)
def test_a_line_has_the_author_of_its_neighbours(name: str) -> None:
    words, wanted = CASES[name]
    rows = [word.split(":", 1) for word in words.split(" ")]
    content = [text.replace("-", " ").encode() for _, text in rows]
    proven = {n: author(who) for n, (who, _) in enumerate(rows, 1) if who in "abp"}
    in_edits = {n: author("a") for n, (who, _) in enumerate(rows, 1) if who == "e"}
    others = {n for n, (who, _) in enumerate(rows, 1) if who == "x"}
    others |= set(proven)
    hunk = (0, 0, 1, len(rows))
    found = find_neighbours([hunk], proven, in_edits, others, content)
    assert " ".join(map(str, sorted(found))) == wanted
    for line, who in found.items():
        near: Any = {**who}
        assert near.pop("by_neighbours") is True
        assert near in proven.values() or near == in_edits[line]


def test_two_runs_are_not_one() -> None:
    proven = {1: author("a"), 4: author("a")}
    content = [b"foo", b"}", b"}", b"bar"]
    found = find_neighbours([(1, 0, 1, 1), (1, 0, 4, 1)], proven, {}, set(proven), content)
    assert found == {}, "what stands between was there before"


def test_a_slight_line_has_no_word() -> None:
    assert all(map(is_slight, (b"", b"  \t", b"});", b"---")))
    assert not any(map(is_slight, (b"a", b"  1", b"} else {", "\u00e4".encode())))
