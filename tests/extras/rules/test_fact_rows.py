"""The rows that commits make: months, teams, the changes they came with, turns and calls."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gitcp.errors import Error
from gitcp.extras.facts import tables

DAY = 86400


def test_a_month_is_that_of_the_calendar() -> None:
    for seconds in range(0, 140 * 366 * DAY, 5 * DAY + 7):
        assert tables.format_month(seconds) == time.strftime("%Y-%m", time.gmtime(seconds))
    for seconds in (951782400 - 1, 951782400, 951868800, 4107542400, -1, 4102444799):
        assert tables.format_month(seconds) == time.strftime("%Y-%m", time.gmtime(seconds))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://user:secret@example.org/acme/shop.git", "example.org/acme/shop"),
        ("ssh://git@example.org:22/acme/shop/", "example.org/22/acme/shop"),
        ("git@example.org:acme/shop.git", "example.org/acme/shop"),
        ("file:///srv/git/shop.git", "/srv/git/shop"),
        ("/srv/git/a:b/shop/.git", "/srv/git/a:b/shop"),
    ],
)
def test_a_repository_is_called_by_host_and_path_and_never_by_a_password(
    url: str, name: str
) -> None:
    assert tables.derive_repository_name(url) == name


@pytest.mark.parametrize(
    ("mail", "team"),
    [
        ("ada@shop.example", "shop"),
        ("ADA@Shop.Example", "shop"),
        ("eve@pay.example", "pay"),
        ("bob@pay.example", "pay"),
        ("x@else", ""),
    ],
)
def test_the_first_team_with_a_pattern_for_an_address_has_it(mail: str, team: str) -> None:
    teams = {"shop": ["*@shop.example"], "pay": ["eve@*", "*@PAY.example"]}
    assert tables.find_team(tables.parse_teams(teams, "it"), mail) == team


@pytest.mark.parametrize("table", [[], {"shop": "ada"}, {"shop": [1]}])
def test_what_is_no_team_is_refused(table: object) -> None:
    with pytest.raises(Error, match=r"'teams.* in it must be a"):
        tables.parse_teams(table, "it")


@pytest.mark.parametrize(
    ("graph", "tip", "came"),
    [
        ("b a, a", "b", {}),
        ("m a t2, t2 t1, t1 a, a", "m", {"t1": "m", "t2": "m"}),
        # A branch that was merged twice: what the first merge brought stays that one's.
        (
            "n m t2, m a t1, t2 t1, t1 a, a",
            "n",
            {"t1": "m", "t2": "n"},
        ),
        # Beside the range, and a parent that is not in it.
        ("b a, x a", "b", {}),
    ],
)
def test_a_commit_came_by_the_merge_that_brought_it(
    graph: str, tip: str, came: dict[str, str]
) -> None:
    assert tables.find_changes([row.split() for row in graph.split(",")], tip) == came


def item(kind: str, line: int, **more: Any) -> Any:
    empty = {"text": "", "time": "", "id": "", "name": "", "given": None, "failed": False}
    return {"kind": kind, "line": line, **empty, **more}


ITEMS = [
    item("prompt", 0, text="before"),
    item("call", 1, id="c1", name="Read"),
    item("prompt", 2, text="now", time="2026-11-23T00:00:01Z"),
    item("call", 3, id="c2", name="Bash", time="2026-11-23T00:00:02Z"),
    item("result", 4, id="c2", failed=True),
    item("call", 5, name="Write"),
]


def test_turns_and_calls_are_those_since_the_checkpoint_before() -> None:
    turns = {"t1": {"number": 1}, "t2": {"number": 2, "model": "m"}}
    record: Any = {
        "checkpoint_id": "c",
        "session_id": "s",
        "metadata": {"checkpoint_transcript_start": 2, "turns": turns},
    }
    second = 1795392001
    made = tables.make_transcript_rows(record, ITEMS, text=True)
    assert made["turns"] == [("c", "s", 2, "t2", "m", second, 2, 3, "now")]
    assert made["calls"] == [
        ("c", "s", 2, "c2", "Bash", second + 1, True),
        ("c", "s", 2, "", "Write", None, False),
    ]
    assert tables.make_transcript_rows(record, ITEMS, text=False)["turns"][0][-1] is None


def test_of_lines_that_go_the_age_is_told_and_never_below_nothing() -> None:
    events = [("a", "m", str(5 * DAY), "", 3), ("a", "m", str(5 * DAY), "person", 2)]
    born = 5 * DAY, "1970-01"
    assert tables.make_survival_rows(events, 8 * DAY) == [
        ("born", 3, "a", "m", *born, 3, ""),
        ("gone", 2, "a", "m", *born, 3, "person"),
    ]
    assert tables.make_survival_rows(events[1:], 0)[0][6] == 0
