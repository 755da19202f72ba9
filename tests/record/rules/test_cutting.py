"""What of a journal stays when it is cut back."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.record.journal import credit, cuts
from gitcp.record.journal.line_kinds import Had, Settlement, build_edit, read_line
from gitcp.text.ids import PERSON

NOW = ("100644", "1" * 40)


def edit(path: str, at: int) -> Any:
    return build_edit(path, None, NOW, PERSON, "between", at)


def commit(name: str, *settled: str) -> Any:
    return read_line({"commit": name, "settled": list(settled)})


HELD: Any = read_line({"held": "f" * 40})


def test_what_no_commit_took_stays_and_the_last_commits_edits() -> None:
    lines = [edit("left", 1), edit("a", 2), HELD, commit("1", "a")]
    lines += [
        line for n in range(3) for line in (edit(f"p{n}", 10 + n), HELD, commit("x", f"p{n}"))
    ]
    left = cuts.cut_back(lines, lines)
    assert [edit.path for edit in credit.list_edits(left)] == ["left", "p0", "p1", "p2"]


def test_what_no_ref_holds_yet_stays() -> None:
    lines = [edit("a", 1), HELD, edit("b", 2)]
    lines += [commit(str(n), "a", "b") for n in range(6)]
    left = cuts.cut_back(lines, lines)
    assert [edit.path for edit in credit.list_edits(left)] == ["b"]


def test_which_contents_the_paths_had_is_still_known_of_the_newest() -> None:
    lines = [edit("a", 1), HELD, *(commit(str(n), "a") for n in range(6))]
    once = cuts.cut_back(lines, lines)
    more = [*once, edit("b", 2), HELD, *(commit(str(n), "b") for n in range(6))]
    left = cuts.cut_back(more, more)
    [had] = [line for line in left if isinstance(line, Had)]
    assert had.contents == {"a": [NOW[1]], "b": [NOW[1]]}
    assert credit.had_content(left, "a", NOW) and not credit.had_content(left, "c", NOW)
    assert not credit.had_content(left, "a", None)
    many: list[Any] = [Had({"had": {"a": [f"{n:040x}" for n in range(cuts.CONTENTS)]}}), *more]
    first: Any = cuts.cut_back(many, many)[0]
    assert sum(map(len, first.contents.values())) == cuts.CONTENTS
    assert f"{0:040x}" not in first.contents["a"]


def test_the_last_call_of_a_file_tool_stays_while_its_session_is_in_mid_turn() -> None:
    calls: list[Any] = [
        line
        for n, session in enumerate("aab")
        for line in (
            read_line({"open": str(n), "session": session, "at": n, "looked": {"f": None}}),
            read_line({"close": str(n), "session": session, "at": n}),
        )
    ]
    lines = [*calls, *(commit(str(n)) for n in range(6))]
    left = [line for line in cuts.cut_back(lines, lines, {"a"}) if not isinstance(line, Settlement)]
    assert left == calls[2:4]


def test_a_call_that_runs_stays_with_its_closings() -> None:
    calls: list[dict[str, Any]] = [
        {"open": "1", "session": "s", "at": 1},
        {"open": "2", "session": "s", "at": 2},
        {"close": "2", "session": "s", "at": 3},
        {"open": "3", "session": "s", "at": 4},
        {"close": "3", "session": "s", "at": 5, "goes_on": "late"},
        {"look": 6},
    ]
    lines = [*map(read_line, calls)]
    lines += [commit(str(n)) for n in range(6)]
    left = [line for line in cuts.cut_back(lines, lines) if not isinstance(line, Settlement)]
    assert [line.keys for line in left] == [calls[0], calls[3], calls[4], calls[5]]


def test_very_many_paths_stay_as_one_line_while_one_is_unsettled() -> None:
    packed = read_line({"trees": ["1" * 40, "2" * 40], "who": "person", "how": "between", "at": 1})
    lines = [packed, HELD, *(commit(str(n), "a") for n in range(6))]
    both = [edit("a", 1), edit("b", 1), *lines[1:]]
    assert packed in cuts.cut_back(lines, both)
    assert packed not in cuts.cut_back(lines, [edit("a", 1), *lines[1:]])


def test_since_when_nothing_is_cut_is_marked_with_the_turns_that_began_before() -> None:
    def by(turn: str, at: int) -> Any:
        return build_edit("a", None, NOW, ("s", turn, f"{turn}-{at}"), "tool", at)

    turn = [by("t1", 1), commit("0", "a"), by("t1", 2), *(commit(str(n), "a") for n in range(1, 4))]
    assert find_since_cut(turn) == (turn, set())
    once = cuts.cut_back([*turn, by("t2", 3)], [])
    whole, parted = find_since_cut(once)
    assert (whole[0], whole[-1], parted) == (by("t1", 2), by("t2", 3), {"t1"})
    later = [*once, by("t1", 4), by("t2", 5), *(commit(str(n), "a") for n in range(4, 7))]
    whole, parted = find_since_cut(cuts.cut_back([*later, by("t2", 6)], []))
    assert [line.at for line in whole if line.at] == [3, 4, 5, 6]
    assert parted == {"t1"}, "its first edit is gone since the first time"
    assert find_since_cut([Had({"had": {}}), by("t1", 1)]) == ([], set())


def find_since_cut(lines: list[Any]) -> tuple[list[Any], set[str]]:
    found = cuts.find_since_cut(lines)
    return found.lines, found.cut_ids


def look(at: int, base: str = "one") -> Any:
    return read_line({"look": at, "base": base})


def based(path: str, at: int, base: str = "one") -> Any:
    return edit(path, at).having(base=base)


def checkpoint(at: int, *paths: str, **more: Any) -> Any:
    line = {"stream": "st", "session": "s", "turn": "t", "files": dict.fromkeys(paths, NOW)}
    return read_line({**line, "at": at, **more})


def held(at: int) -> Any:
    return read_line({"held": f"{at:040x}"})


LAST = held(9)
OPENING = read_line({"open": "1", "session": "s", "at": 1})
REPEATED: dict[str, tuple[list[Any], list[Any]]] = {
    "looks at one base but the first and the last": (
        [look(1), look(2), based("a", 3), look(4), look(5)],
        [look(1), based("a", 3), look(5)],
    ),
    "no look beside another base": (
        [look(1), look(2), based("a", 3, "two"), look(4), look(5), look(6, "two")],
        [look(1), look(2), based("a", 3, "two"), look(4), look(5), look(6, "two")],
    ),
    "no look beside an edit whose base nobody knows": (
        [look(1), look(2), edit("a", 3), look(4), look(5)],
        [look(1), look(2), edit("a", 3), look(4), look(5)],
    ),
    "no look that says no base": ([read_line({"look": n}) for n in range(4)],) * 2,
    "held lines but the newest": ([held(1), edit("a", 1), held(2), LAST], [edit("a", 1), LAST]),
    "a checkpoint whose files later ones have": (
        [checkpoint(1, "a", "b"), checkpoint(2, "a"), checkpoint(3, "b", "c"), LAST],
        [checkpoint(2, "a"), checkpoint(3, "b", "c"), LAST],
    ),
    "none with a file of its own": ([checkpoint(1, "a", "b"), checkpoint(2, "a"), LAST],) * 2,
    "none that takes files from streams": (
        [checkpoint(1, "a", out={"other": ["a"]}), checkpoint(2, "a"), LAST],
    )
    * 2,
    "none for another stream, or of another session": (
        [
            checkpoint(1, "a"),
            checkpoint(2, "a", stream="other"),
            checkpoint(3, "a", session="t"),
            LAST,
        ],
    )
    * 2,
    "none that no ref holds yet": ([checkpoint(1, "a"), checkpoint(2, "a")],) * 2,
    "no edit, call or commit": ([edit("a", 1), edit("a", 1), OPENING, commit("1"), LAST],) * 2,
}


@pytest.mark.parametrize("name", REPEATED)
def test_what_other_lines_repeat_goes_at_any_age(name: str) -> None:
    lines, left = REPEATED[name]
    assert cuts.drop_repeated(lines) == left
    assert cuts.drop_repeated(left) == left
