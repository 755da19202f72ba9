"""What two changes have in common: of lines, of entries; which of several candidates is meant."""

from __future__ import annotations

import pytest

from gitcp.record.match.holding import choose_candidate
from gitcp.record.match.open_edits import compare_changes
from gitcp.text.ids import GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record.match.holding import Evidence
    from gitcp.text.record_types import Recorded, Staged

FILE, EXEC, LINK = "100644", "100755", "120000"
STORE: dict[str, bytes] = {}


def oid(data: str) -> str:
    """The name of a content."""
    STORE[f"<{data}>"] = data.encode()
    return f"<{data}>"


def text(*parts: str) -> str:
    return "".join(f"the line of the part {part}\n" for part in parts)


# before and after of the record, before and after of the commit, the lines that count, the verdict
CASES: dict[str, tuple[str | None, str | None, str | None, str | None, set[str] | None, bool]] = {
    "the same change": ("", text("a"), "", text("a"), None, True),
    "the same change on other ground": (text("a"), text("a", "b"), "", text("b"), None, True),
    "what stood before the record": (text("a"), text("a", "b"), "", text("a"), None, False),
    "the recorded content, brought by what came before": (
        text("a"), text("a", "b"), text("b"), text("a", "b"), None, False),
    "part of it": ("", text("a", "b", "c"), "", text("b"), None, True),
    "it and more": ("", text("a"), "", text("a", "x", "y"), None, True),
    "the rest of it and more, where a part came before": (
        "", text("a", "b"), text("a"), text("a", "b", "x", "y"), None, True),
    "the part that came before and more": (
        "", text("a", "b"), text("a"), text("a", "x", "y"), None, False),
    "another's line": ("", text("a", "b"), "", text("b"), {"a"}, False),
    "a line of the session's": ("", text("a", "b"), "", text("a"), {"a"}, True),
    "the removed line": (text("a", "b"), text("a"), text("b", "c"), text("c"), None, True),
    "another removed line": (text("a", "b"), text("a"), text("b", "c"), text("b"), None, False),
    "the removed line beside a new one": (
        text("a", "b"), text("a"), text("b"), text("x"), None, True),
    "a deletion": (text("a"), None, text("a", "b"), None, None, True),
    "a deletion of other lines": (text("a"), None, text("b"), None, None, False),
    "a deletion of an empty file": ("", None, "", None, None, True),
    "a part of a deletion": (text("a", "b"), None, text("a", "c"), text("c"), None, True),
    "another part than of a deletion": (text("a"), None, text("a", "c"), text("a"), None, False),
    "a deletion of other binary content": ("a\0", None, "b\0", None, None, True),
    "a deletion by others": (text("a"), text("b"), text("a"), None, None, False),
    "an empty file": (None, "", None, "", None, True),
    "the same binary content": ("a\0", "b\0", "c\0", "b\0", None, True),
    "another binary content": ("a\0", "b\0", "a\0", "c\0", None, False),
    "lines in another order": (
        text("a", "b"), text("b", "a"), text("a"), text("b", "a"), None, True),
    "a line again, at the same place": (
        text("a", "b"), text("a", "b", "a"), text("x", "a", "b"), text("x", "a", "b", "a"),
        None, True),
    "a line again, at another place": (
        text("a", "b"), text("a", "b", "a"), text("a", "b"), text("a", "a", "b"), None, False),
    "a line again, that the record wrote for the first time": (
        text("z", "b"), text("z", "a", "b"), text("z", "b", "q", "a"),
        text("z", "a", "b", "q", "a"), None, False),
    "a line again that is another's": (
        text("a", "b"), text("a", "b", "a"), text("x", "a", "b"), text("x", "a", "b", "a"),
        {"b"}, False),
    "a line that moved, and moved there too": (
        text("z", "a", "b", "c"), text("z", "b", "a", "c"), text("y", "z", "a", "b", "c"),
        text("y", "z", "b", "a", "c"), None, True),
    "white space alone": ("", text("a"), "", text("a").replace(" ", "  "), None, True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_two_changes_have_something_in_common_or_not(name: str) -> None:
    was, recorded, parent, here, own, want = CASES[name]
    entry: Recorded = {
        "path": "f",
        "mode": GONE if recorded is None else FILE,
        "oid": None if recorded is None else oid(recorded),
        "before": None if was is None else (FILE, oid(was)),
        "live": False,
    }
    if own is not None:
        entry["own"] = frozenset(text(part).strip().encode() for part in own)
    change: Staged = (
        GONE if parent is None else FILE,
        None if parent is None else oid(parent),
        GONE if here is None else FILE,
        None if here is None else oid(here),
    )
    shared = compare_changes(entry, change, STORE.get)
    assert bool(shared.units) is want, shared.reason


@pytest.mark.parametrize("live", [True, False])
def test_a_file_as_a_session_left_it_is_evidence_while_it_is_live(live: bool) -> None:
    before, left = (FILE, oid(text("a", "b"))), oid(text("a"))
    entry: Recorded = {"path": "f", "mode": FILE, "oid": left, "before": before, "live": live}
    assert bool(compare_changes(entry, (GONE, None, FILE, left), STORE.get).units) is live


@pytest.mark.parametrize(("before", "want"), [(FILE, True), (EXEC, False)])
def test_a_mode_is_the_sessions_where_it_set_it(before: str, want: bool) -> None:
    name = oid("x")
    shared = compare_changes(
        {"path": "f", "mode": EXEC, "oid": name, "before": (before, name), "live": False},
        (FILE, name, EXEC, name),
        STORE.get,
    )
    assert bool(shared.units) is want


def test_a_link_in_a_files_place_is_another_type() -> None:
    shared = compare_changes(
        {"path": "f", "mode": FILE, "oid": oid("x"), "before": None, "live": False},
        (GONE, None, LINK, oid("x")),
        STORE.get,
    )
    assert not shared.units


def lines(*words: str) -> Evidence:
    return {("f", name.encode()) for name in words}


CHOICES: dict[str, tuple[list[dict[str, Evidence]], list[str]]] = {
    "none": ([], []),
    "each its own": ([{"1": lines("a")}, {"2": lines("b")}], ["1", "2"]),
    "less than another has": ([{"1": lines("a")}, {"2": lines("a", "b")}], ["2"]),
    "several that fit equally": ([{"1": lines("a")}, {"2": lines("a")}], []),
    "several of which one has more": (
        [{"1": lines("a")}, {"2": lines("a")}, {"3": lines("a", "b")}], ["3"]),
    "one id on several commits": ([{"1": lines("a")}, {"1": lines("a")}], ["1"]),
    "two ids of one commit": ([{"1": lines("a"), "2": lines("a")}], ["1", "2"]),
    "some in common": ([{"1": lines("a", "b")}, {"2": lines("b", "c")}], ["1", "2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_the_candidates_that_explain_a_commit_best_are_chosen(name: str) -> None:
    candidates, want = CHOICES[name]
    assert choose_candidate(candidates) == want
