"""The open edits of a session at a path, by the lines of a journal: live, or away."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gitcp.record.journal import credit, cuts
from gitcp.record.journal.line_kinds import build_edit, read_line
from gitcp.record.journal.stretches import collect_work
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Version, Writer

MINE: Writer = ("s", "turn", "")
OTHER: Writer = ("t", "turn", "")


def blob(name: str) -> Version:
    return ("100644", name * 40) if name else None


def lines(*steps: tuple[Any, ...]) -> list[JournalLine]:
    """A step is (who, content, more keys) or a line as it stands; a file begins as '0'."""
    made: list[JournalLine] = []
    stands = "0"
    for at, step in enumerate(steps, 1):
        if isinstance(step[0], dict):
            made.append(read_line({"at": at, **step[0]}))
            continue
        who, after, *more = step
        how = "restored" if who == ids.UNKNOWN else "tool"
        edit = build_edit("f", blob(stands), blob(str(after)), who, how, at)
        made.append(edit.having(**more[0]) if more else edit)
        stands = str(after)
    return made


def edits(*edits: tuple[int, str]) -> dict[str, list[list[object]]]:
    return {"f": [[at, oid * 40] for at, oid in edits]}


BACK = ids.UNKNOWN
CASES: dict[str, tuple[list[Any], list[tuple[str, bool]]]] = {
    "one edit": ([(MINE, "1")], [("1", True)]),
    "two in a row": ([(MINE, "1"), (MINE, "2")], [("2", True)]),
    "a person goes on": ([(MINE, "1"), (ids.PERSON, "2")], [("1", True)]),
    "put away": ([(MINE, "1"), (BACK, "0")], [("1", False)]),
    "put away with what a person added": (
        [(MINE, "1"), (ids.PERSON, "2"), (BACK, "0")],
        [("1", False)],
    ),
    "put away and back": ([(MINE, "1"), (BACK, "0"), (BACK, "1")], [("1", True)]),
    "put away, and other work": (
        [(MINE, "1"), (BACK, "0"), (MINE, "2")],
        [("1", False), ("2", True)],
    ),
    "taken back by itself for good": ([(MINE, "1"), (BACK, "0", {"by": ["s", "", ""]})], []),
    "put away by itself": (
        [(MINE, "1"), (BACK, "0", {"by": ["s", "", ""], "away": True})],
        [("1", False)],
    ),
    "written back": ([(MINE, "1"), (MINE, "0")], []),
    "settled": ([(MINE, "1"), ({"commit": "c", "settled": ["f"]},)], []),
    "left out by a commit": (
        [(MINE, "1"), ({"commit": "c", "settled": ["f"], "left": edits((1, "1"))},)],
        [("1", False)],
    ),
    "left out, and there again": (
        [
            (MINE, "1"),
            (ids.PERSON, "2"),
            ({"commit": "c", "settled": ["f"], "left": edits((1, "1"))},),
            (BACK, "1"),
        ],
        [("1", True)],
    ),
    "taken of a file that is not settled": (
        [
            (MINE, "1"),
            (OTHER, "2"),
            ({"commit": "c", "settled": [], "taken": edits((1, "1"))},),
        ],
        [],
    ),
    "the other's taken": (
        [
            (MINE, "1"),
            (OTHER, "2"),
            ({"commit": "c", "settled": [], "taken": edits((2, "2"))},),
        ],
        [("1", True)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_session_has_open_at_a_path(name: str) -> None:
    steps, want = CASES[name]
    records = collect_work(lines(*steps), "s").build_records()
    assert [(str(one["oid"])[0], one["live"]) for one in records[::-1]] == want


def seen(at: str, base: str) -> dict[str, Any]:
    """A look at the worktree, HEAD being at base."""
    return {"look": int(at), "base": base}


HERE, AWAY = {"base": "here"}, {"base": "away"}
BASES: dict[str, tuple[list[Any], list[tuple[str, bool]]]] = {
    "made on a commit that HEAD left": ([(MINE, "1", AWAY)], [("1", False)]),
    "made here": ([(MINE, "1", HERE)], [("1", True)]),
    "made where nobody knows": ([(MINE, "1")], [("1", True)]),
    "made elsewhere and seen here": ([(MINE, "1", AWAY), (seen("2", "here"),)], [("1", True)]),
    "made here and seen elsewhere": ([(MINE, "1", HERE), (seen("2", "away"),)], [("1", False)]),
    "seen here before it was made elsewhere": (
        [(seen("1", "here"),), (MINE, "1", AWAY)],
        [("1", False)],
    ),
    "changed here by a person": ([(MINE, "1", AWAY), (ids.PERSON, "2", HERE)], [("1", False)]),
    "changed by a person before it was seen here": (
        [(MINE, "1", AWAY), (ids.PERSON, "2", HERE), (seen("2", "here"),)],
        [("1", False)],
    ),
    "seen here and then changed by a person": (
        [(MINE, "1", AWAY), (seen("2", "here"),), (ids.PERSON, "2", HERE)],
        [("1", True)],
    ),
    "goes on here": ([(MINE, "1", AWAY), (MINE, "2", HERE)], [("2", True)]),
    "put away and back here": (
        [(MINE, "1", AWAY), (BACK, "0", HERE), (BACK, "1", HERE)],
        [("1", True)],
    ),
}


@pytest.mark.parametrize("name", BASES)
def test_what_is_open_is_live_while_HEAD_is_at_its_base(name: str) -> None:
    steps, want = BASES[name]
    records = collect_work(lines(*steps), "s", lambda base: base != "away").build_records()
    assert [(str(one["oid"])[0], one["live"]) for one in records[::-1]] == want


def test_a_record_says_what_stood_there_before_the_session_wrote() -> None:
    [record] = collect_work(lines((OTHER, "1"), (MINE, "2"), (OTHER, "3")), "s").build_records()
    assert (record["before"], record["oid"]) == (blob("1"), "2" * 40)


def _make_journal(chance: random.Random) -> list[JournalLine]:
    """A journal of two sessions and a person at three paths, while HEAD moves between commits."""
    made: list[JournalLine] = []
    base, stands = "here", dict.fromkeys("fgh", "0")
    for at in range(1, 60):
        kind, path = chance.choice(["edit", "edit", "look", "look", "look", "head"]), "f"
        if kind == "head" and chance.random() < 0.4:
            base = chance.choice(["here", "away", "far"])
        elif kind == "look":
            made.append(read_line({"look": at, "base": base}))
        elif kind == "edit":
            path, who = chance.choice("fgh"), chance.choice([MINE, OTHER, ids.PERSON, BACK])
            after, how = chance.choice("0123"), "restored" if who == BACK else "tool"
            entry = build_edit(path, blob(stands[path]), blob(after), who, how, at)
            made.append(entry.having(base=base) if chance.random() < 0.9 else entry)
            stands[path] = after
        if chance.random() < 0.2:
            files = {p: blob(stands[p]) for p in chance.sample("fgh", chance.randint(0, 3))}
            out = {"out": {"x": ["f"]}} if chance.random() < 0.2 else {}
            stream = {"stream": chance.choice("xy"), "session": chance.choice("st"), "turn": "1"}
            made.append(read_line({**stream, "files": files, "at": at, **out}))
        if chance.random() < 0.1:
            made.append(read_line({"held": f"{at:040x}"}))
        if chance.random() < 0.05:
            made.append(read_line({"commit": str(at), "settled": [path], "at": at}))
    return made


@pytest.mark.parametrize("seed", range(60))
def test_without_the_repeated_lines_a_journal_says_the_same(seed: int) -> None:
    whole = _make_journal(random.Random(seed))
    less = cuts.drop_repeated(whole)
    assert len(less) < len(whole)
    for session in "st":
        for bases in (("here",), ("away",), ("here", "far", "")):
            said = [collect_work(part, session, bases.__contains__) for part in (whole, less)]
            assert said[0].build_records() == said[1].build_records()
        files = [credit.map_recorded_files(part, session) for part in (whole, less)]
        assert files[0] == files[1]
    assert credit.list_edits_since_look(less) == credit.list_edits_since_look(whole)
    assert credit.list_edits(less) == credit.list_edits(whole)
