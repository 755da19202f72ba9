"""Which entry belongs to whom: the table of the evidence, a case a row."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import WrittenLine, build_edit, parse_lines, read_line
from gitcp.record.looks import credit_cases
from gitcp.text.ids import PERSON, UNKNOWN

A = ("session-a", "turn-1", "tool-1")
B = ("session-b", "turn-2", "tool-2")
NOBODY, OPEN = None, None
S = 1_000_000_000  # what a file system that keeps whole seconds counts in


def window(
    begin: int, end: int | None, *words: str, who: Any = A, late: bool = False, **more: Any
) -> Any:
    kind = more.pop("kind", "shell")
    times: dict[str, Any] = {"opened": begin, "begin": begin, "end": end}
    return credit_cases.Window(who, kind, **{**times, **more}, names=words, is_late=late)


def change(at: int | None, *, seen: int = 0, **more: Any) -> Any:
    flags = {f"is_{key}": more.pop(key, False) for key in ("new", "gone", "restored")}
    return credit_cases.SeenChange(
        "src/a.py", at=at, seen=seen, **{"oid": "1" * 40, **flags, **more}
    )


def gone(at: int | None, seen: int) -> Any:
    return change(at, seen=seen, gone=True)


CASES: list[tuple[str, Any, list[Any], Any, str]] = [
    ("nothing explains it", change(5), [], PERSON, "between"),
    ("within a window", change(5), [window(4, 6)], A, "window"),
    ("before it, at a permission prompt", change(3), [window(4, 6)], PERSON, "between"),
    ("after it", change(7), [window(4, 6)], PERSON, "between"),
    ("in a window without an end", change(7), [window(4, OPEN)], A, "window"),
    ("a whole second in which the call ended", change(5 * S, seen=4 * S),
     [window(4 * S, 5 * S)], UNKNOWN, "between"),
    ("the same, at the very end of the call", change(5 * S, seen=4 * S),
     [window(4 * S, 5 * S, is_closing=True)], A, "window"),
    ("the same, by its name", change(5 * S, seen=4 * S), [window(4 * S, 5 * S, "src/a.py")], A,
     "window"),
    ("a whole second in a call that began with a look", change(5 * S, seen=4 * S),
     [window(4 * S, 7 * S)], A, "window"),
    ("the second in which an open call began with a look", change(5 * S, seen=5 * S),
     [window(5 * S, OPEN)], A, "window"),
    ("the second in which a call began, and nobody looked", change(5 * S, seen=4 * S),
     [window(5 * S, 7 * S)], UNKNOWN, "between"),
    ("the same, where the call's own time is exact", change(5 * S, seen=4 * S),
     [window(5 * S + 7, 7 * S)], UNKNOWN, "between"),
    ("a whole second before the call", change(5 * S, seen=4 * S), [window(6 * S, 7 * S)], PERSON,
     "between"),
    ("a content the repository had", change(5, restored=True), [window(4, 6)], UNKNOWN, "restored"),
    ("a file tool that brings it back", change(5, restored=True),
     [window(4, OPEN, "src/a.py", kind="tool")], A, "tool"),
    ("a transcript that tells of it", change(5, restored=True),
     [window(4, OPEN, "src/a.py", kind="transcript")], A, "transcript"),
    ("late: an old path", change(9), [window(4, OPEN, late=True, left=5)], PERSON, "between"),
    ("late: a new path", change(9, new=True), [window(4, OPEN, late=True, left=5)], UNKNOWN,
     "between"),
    ("late: a new path that it names", change(9, new=True),
     [window(4, OPEN, "src/a.py", late=True, left=5)], A, "window"),
    ("late: a new path of whose directory it names the file", change(9, new=True),
     [window(4, OPEN, "a.py", late=True, left=5)], A, "window"),
    ("late: a new path in a directory that it names", change(9, new=True),
     [window(4, OPEN, "src", late=True, left=5)], UNKNOWN, "between"),
    ("late: a new path that fits its pattern", change(9, new=True),
     [window(4, OPEN, "src/*.py", late=True, left=5)], UNKNOWN, "between"),
    ("late: a named path, which it may only read", change(9),
     [window(4, OPEN, "src/a.py", late=True, left=5)], UNKNOWN, "between"),
    ("late: gone", gone(9, 8), [window(4, OPEN, "src/a.py", late=True, left=5)], UNKNOWN,
     "between"),
    ("late: an old path, while the call ran", change(5),
     [window(4, OPEN, late=True, left=5)], A, "window"),
    ("in the background of the turn: an old path", change(9), [window(4, OPEN, left=5)], UNKNOWN,
     "between"),
    ("in the background of the turn: a new path", change(9, new=True), [window(4, 10, left=5)],
     UNKNOWN, "between"),
    ("after the background", change(11, new=True), [window(4, 10, "src/a.py", left=5)], PERSON,
     "between"),
    ("at the end of a call that runs on", change(5, new=True),
     [window(4, OPEN, left=5, is_closing=True)], A, "window"),
    ("a second in which a call ended that runs on", change(5 * S, seen=4 * S),
     [window(4 * S, OPEN, left=5 * S)], UNKNOWN, "between"),
    ("over: a new path", change(9, new=True), [window(4, OPEN, late=True, left=5, kind="cut")],
     UNKNOWN, "between"),
    ("over: a new path from before it", change(3, new=True),
     [window(4, OPEN, late=True, left=5, kind="cut")], PERSON, "between"),
    ("over: a named path", change(9), [window(4, OPEN, "src/a.py", late=True, left=5, kind="cut")],
     UNKNOWN, "between"),
    ("over: a new path that it names", change(9, new=True),
     [window(4, OPEN, "src/a.py", late=True, left=5, kind="cut")], A, "window"),
    ("gone, there when the call began", gone(5, 4), [window(4, 6)], A, "window"),
    ("gone after the call", gone(8, 6), [window(4, 5)], PERSON, "between"),
    ("gone, and nobody looked", gone(5, 2), [window(4, 6)], UNKNOWN, "between"),
    ("gone, by its name", gone(5, 2), [window(4, 6, "src/a.py")], A, "window"),
    ("gone with its directory", gone(5, 2), [window(4, 6, "./src/")], A, "window"),
    ("gone by a pattern", gone(5, 2), [window(4, 6, "src/*.py")], A, "window"),
    ("gone before the call ran", gone(3, 2), [window(4, 6, opened=2)], PERSON, "between"),
    ("a file tool at its path", change(5), [window(4, OPEN, "src/a.py", kind="tool")], A, "tool"),
    ("a file tool cut short, with what it was to write", change(5, oid="1"),
     [window(4, 4, "src/a.py", kind="tool", writes={"src/a.py": "1"})], A, "tool"),
    ("a file tool cut short, with something else", change(5, oid="2"),
     [window(4, 4, "src/a.py", kind="tool", writes={"src/a.py": "1"})], UNKNOWN, "between"),
    ("the same, of which nothing is known", change(5, oid="2"),
     [window(4, 4, "src/a.py", kind="tool", writes={})], UNKNOWN, "between"),
    ("the same, after a look", change(5, seen=5, oid="2"),
     [window(4, 4, "src/a.py", kind="tool", writes={"src/a.py": "1"})], PERSON, "between"),
    ("a file tool cut short after the change", change(3, oid="1"),
     [window(4, 4, "src/a.py", kind="tool", writes={"src/a.py": "1"})], PERSON, "between"),
    ("a call that waits for a permission where processes tell nothing", change(5),
     [window(4, OPEN, kind="waiting")], UNKNOWN, "between"),
    ("the same, by its name", change(5), [window(4, OPEN, "src/a.py", kind="waiting")], UNKNOWN,
     "between"),
    ("a file tool elsewhere", change(5), [window(4, OPEN, "a.py", kind="tool")], PERSON, "between"),
    ("gone beside a file tool", gone(5, 2), [window(4, 6, "b.py", kind="tool")], PERSON, "between"),
    (
        "a file tool before a shell that names it",
        change(6),
        [window(5, OPEN, "src/a.py"), window(4, OPEN, "src/a.py", who=B, kind="tool")],
        B,
        "tool",
    ),
    ("a whole turn", change(5), [window(1, OPEN, kind="turn")], A, "turn"),
    (
        "a shell before a whole turn",
        change(5),
        [window(4, 6), window(4, OPEN, who=B, kind="turn")],
        A,
        "window",
    ),
    (
        "a transcript that says so",
        change(5),
        [window(4, 6), window(1, OPEN, "src/a.py", who=B, kind="transcript")],
        B,
        "transcript",
    ),
    (
        "a transcript that says another",
        change(5),
        [window(1, OPEN, "a.py", who=B, kind="transcript")],
        PERSON,
        "between",
    ),
    ("two, the one that names it", change(5), [window(1, 6, "a.py"), window(2, 6, who=B)], A,
     "window"),
    ("two, the one opened last", change(5), [window(1, 6), window(2, 6, who=B)], B, "window"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "windows", "who", "how"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_a_change_belongs_to_what_explains_it(
    change: Any, windows: list[Any], who: Any, how: str
) -> None:
    verdict = credit_cases.attribute_change(change, windows)
    assert (verdict.who, verdict.how) == (who, how)


def test_what_two_sessions_explain_alike_is_shared() -> None:
    two = [window(1, 6), window(2, 6, who=B)]
    assert credit_cases.attribute_change(change(5), two).is_shared
    assert not credit_cases.attribute_change(change(5), two[:1]).is_shared
    assert not credit_cases.attribute_change(change(5), [window(1, 6, "a.py"), two[1]]).is_shared
    assert not credit_cases.attribute_change(change(5), [window(1, 6), window(2, 6)]).is_shared, (
        "one session"
    )


def test_of_two_sessions_that_explain_a_change_alike_the_one_that_says_its_words_made_it() -> None:
    two = [window(1, 6, "echo", "hello"), window(2, 6, "echo", "bye", who=B)]
    for added, who, shared in (("hello", A, False), ("bye", B, False), ("echo", B, True)):
        verdict = credit_cases.attribute_change(change(5), two, added)
        assert (verdict.who, verdict.is_shared) == (who, shared)


def test_restored_content_names_the_window_it_went_through() -> None:
    by = credit_cases.attribute_change(change(5, restored=True), [window(4, 6)]).by
    assert by is not None and by.who == A
    assert credit_cases.attribute_change(change(5, restored=True), []).by is None


@pytest.mark.parametrize(
    ("command", "path", "is_named"),
    [
        ("rm src/a.py", "src/a.py", True),
        ("cd src && rm a.py", "src/a.py", True),
        ("rm -rf src", "src/a.py", True),
        ("rm -rf ./src/", "src/deep/a.py", True),
        ("rm *.py", "src/a.py", True),
        ("rm src/?.py", "src/a.py", True),
        ("rm *.pyc", "src/a.py", False),
        ("cp /tmp/x '/home/me/repo/src/a.py'", "src/a.py", True),
        ("ls", "src/a.py", False),
        ("rm .", "src/a.py", False),
        ("rm *", "src/a.py", False),
        ("rm src/a.pyc src/b", "src/a.py", False),
        ("echo >out.txt", "out.txt", True),
        ("--file=src/a.py", "src/a.py", True),
    ],
)
def test_a_command_names_paths(command: str, path: str, is_named: bool) -> None:
    assert credit_cases.is_path_named(credit_cases.list_words(command), path) is is_named


def test_a_call_runs_from_its_start_or_as_long_as_its_client_says() -> None:
    lines: list[dict[str, Any]] = [
        {"open": "1", "session": "a", "at": 10},
        {"open": "2", "session": "a", "at": 11},
        {"open": "2", "session": "b", "at": 12},
        {"close": "2", "session": "b", "at": 30, "since": 25, "names": ["x"]},
        {"close": "1", "session": "a", "at": 20, "goes_on": "late"},
        {"close": "9", "session": "a", "at": 20},
    ]
    told = [(c.begin, c.end, c.left, c.names) for c in credit.list_calls(map(read_line, lines))]
    assert told == [(10, None, 20, []), (11, None, None, []), (25, 30, None, ["x"])]


def test_a_damaged_line_is_left_out() -> None:
    good = build_edit("p\udcff", None, ("100644", "1" * 40), A, "tool", 5).dump()
    data = good + b'{"path": "cut' + b"\n[]\n\xff\n" + good
    assert [edit.path for edit in credit.list_edits(parse_lines(data))] == ["p\udcff"] * 2


def test_a_chain_follows_a_path_through_its_renames() -> None:
    one, two, three = (("100644", c * 40) for c in "123")
    lines = [
        build_edit("old", None, one, A, "tool", 1),
        build_edit("new", None, three, B, "tool", 2),
        build_edit("new", three, None, B, "tool", 3),
        build_edit("old", one, None, PERSON, "between", 4),
        build_edit("new", None, one, PERSON, "between", 4).having(follows="old"),
        build_edit("new", one, two, B, "tool", 5),
        build_edit("old", None, three, B, "tool", 6),
    ]
    assert [line.at for line in credit.trace_content(lines, "new")] == [1, 4, 4, 5]
    assert [line.at for line in credit.trace_content(lines, "old")] == [1, 4, 6]


def test_a_chain_passes_over_a_file_that_was_put_over_another_and_taken_away() -> None:
    one, two, three = (("100644", c * 40) for c in "123")
    moved = build_edit("new", two, three, B, "window", 3).having(follows="old")
    lines = [
        build_edit("old", None, three, PERSON, "between", 1),
        build_edit("new", None, one, A, "tool", 1),
        build_edit("new", one, two, B, "tool", 2),
        moved,
        build_edit("new", three, two, UNKNOWN, "restored", 4),
    ]
    assert [line.at for line in credit.trace_content(lines, "new")] == [1, 2]
    assert credit.trace_content(lines[:4], "new")[-1] == moved


@pytest.mark.parametrize("who", [None, "somebody", ["a"], ["a", "b", 3], 5])
def test_who_is_not_an_author_is_unknown(who: object) -> None:
    assert WrittenLine({"who": who}).author == UNKNOWN


@pytest.mark.parametrize(
    "command, brings",
    [
        ("git checkout feat -- a.py", True),
        ("git stash pop", True),
        ("cp ../b.py a.py", True),
        ("git add -A && git commit -m done", False),
        ("sed -i s/a/b/ a.py", False),
        ("make restored", False),
    ],
)
def test_which_commands_may_bring_content_in(command: str, brings: bool) -> None:
    assert credit_cases.can_bring_in(window(4, 6, *credit_cases.list_words(command))) == brings
    assert not credit_cases.can_bring_in(
        window(4, 6, *credit_cases.list_words(command), kind="tool")
    )
